// Chaos for as long as one likes.
//
//   run_chaos FOLDER [DURATION [SEED]]
//
// The ledgers go to FOLDER, which is made if it is not there and must be empty. Ten minutes, and a seed of its own,
// unless it is told otherwise.

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>
#include <system_error>
#include <vector>

#include "tests/chaos/conductor.h"

int main(int argc, char** argv) {
  absl::Duration time = absl::Minutes(10);
  if (argc < 2 || (argc > 2 && !absl::ParseDuration(argv[2], &time))) {
    std::fprintf(stderr, "usage: run_chaos FOLDER [DURATION [SEED]]\n");
    return 2;
  }
  std::error_code failed;
  std::filesystem::create_directories(argv[1], failed);
  const bool empty = !failed && std::filesystem::is_empty(argv[1], failed);
  if (failed || !empty) {
    std::fprintf(stderr, "run_chaos: %s: %s\n", argv[1], failed ? failed.message().c_str() : "it is not empty");
    return 2;
  }
  const uint64_t seed = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : std::random_device()();
  const std::vector<std::string> broken = verbena::chaos::RunChaos(seed, time, argv[1]);
  for (const std::string& line : broken) std::printf("%s\n", line.c_str());
  return broken.empty() ? 0 : 1;
}
