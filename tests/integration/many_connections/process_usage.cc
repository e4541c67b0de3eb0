#include "tests/integration/many_connections/process_usage.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace verbena::probe {

ProcessUsage UsageOf(pid_t process) {
  const std::string folder = absl::StrCat("/proc/", process);
  ProcessUsage usage;
  std::ifstream maps(folder + "/maps");
  for (std::string line; std::getline(maps, line);) {
    ++usage.mappings;
    if (absl::StrContains(line, "verbena-soft-pair")) ++usage.pair_mappings;
  }
  std::error_code error;
  const std::filesystem::directory_iterator descriptors(folder + "/fd", error);
  usage.descriptors = std::distance(begin(descriptors), end(descriptors));
  std::ifstream statm(folder + "/statm");
  int64_t size = 0, resident = 0, shared = 0;  // The first three fields, in pages (proc(5)).
  statm >> size >> resident >> shared;
  usage.resident_bytes = resident * sysconf(_SC_PAGESIZE);
  usage.shared_bytes = shared * sysconf(_SC_PAGESIZE);
  return usage;
}

}  // namespace verbena::probe
