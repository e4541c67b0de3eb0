// For tests: what the kernel knows of a mapping of this process.

#ifndef VERBENA_TRANSPORT_TESTING_MAPPING_FLAGS_H_
#define VERBENA_TRANSPORT_TESTING_MAPPING_FLAGS_H_

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>

#include "transport/mapped_memory.h"

namespace verbena::transport {

// The flags of the mapping that holds `address`, each of two letters behind a space, from /proc/self/smaps: " hg" where
// huge pages were asked for, " ht" where it is of those that were set aside. Empty where the kernel does not say.
inline std::string FlagsOfMapping(const void* address) {
  const auto wanted = reinterpret_cast<uintptr_t>(address);
  std::ifstream maps("/proc/self/smaps");
  std::string line;
  for (bool found = false; std::getline(maps, line);) {
    uintptr_t first = 0;
    uintptr_t end = 0;
    if (std::sscanf(line.c_str(), "%zx-%zx ", &first, &end) == 2) found = first <= wanted && wanted < end;
    if (found && line.starts_with("VmFlags:")) return line.substr(sizeof("VmFlags:") - 1);
  }
  return "";
}

// Whether those say for what huge pages were asked.
inline bool ShowsHugePages() {
  const int here = 0;
  return MemoryMapper::OfSystem().transparent_page_bytes() != 0 && !FlagsOfMapping(&here).empty();
}

}  // namespace verbena::transport

#endif  // VERBENA_TRANSPORT_TESTING_MAPPING_FLAGS_H_
