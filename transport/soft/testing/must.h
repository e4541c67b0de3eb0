// What a test cannot go on without.

#ifndef VERBENA_TRANSPORT_SOFT_TESTING_MUST_H_
#define VERBENA_TRANSPORT_SOFT_TESTING_MUST_H_

#include <cerrno>
#include <system_error>

namespace verbena::soft {

// Fails the test that runs, and only that, with `what` there must be, and with what errno says, which is to the point
// if it was a system call that failed: googletest reports the exception.
inline void Must(bool condition, const char* what) {
  if (!condition) throw std::system_error(errno, std::generic_category(), what);
}

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_TESTING_MUST_H_
