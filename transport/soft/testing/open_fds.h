// How many descriptors this process has open: a leak shows as a difference.

#ifndef VERBENA_TRANSPORT_SOFT_TESTING_OPEN_FDS_H_
#define VERBENA_TRANSPORT_SOFT_TESTING_OPEN_FDS_H_

#include <cstddef>
#include <filesystem>
#include <iterator>

namespace verbena::soft {

inline size_t OpenFds() {
  auto entries = std::filesystem::directory_iterator("/proc/self/fd");
  return static_cast<size_t>(std::distance(begin(entries), end(entries)));
}

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_TESTING_OPEN_FDS_H_
