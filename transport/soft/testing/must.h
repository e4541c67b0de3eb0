// What a test cannot go on without.

#ifndef VERBENA_TRANSPORT_SOFT_TESTING_MUST_H_
#define VERBENA_TRANSPORT_SOFT_TESTING_MUST_H_

#include <stdexcept>

namespace verbena::soft {

// Fails the test that runs, and only that, with `what` there must be: googletest reports the exception.
inline void Must(bool condition, const char* what) {
  if (!condition) throw std::runtime_error(what);
}

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_TESTING_MUST_H_
