// simulate --seed=N    replays one seed with its whole trace.
// simulate --seeds=M   runs seeds 1 to M and stops at the first failure; with --from=N, N to M.

#include <charconv>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

#include "tests/simulation/run.h"
#include "tests/simulation/scenario.h"

namespace {

using verbena::simulation::FailureOfSeed;
using verbena::simulation::RunResult;
using verbena::simulation::ScenarioOf;

std::optional<uint64_t> NumberAfter(std::string_view argument, std::string_view flag) {
  if (argument.substr(0, flag.size()) != flag) return std::nullopt;
  const std::string_view digits = argument.substr(flag.size());
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return number;
}

int Replay(uint64_t seed) {
  const RunResult result = verbena::simulation::RunScenario(seed, ScenarioOf(seed), true);
  std::printf("seed %ju: %s\n", static_cast<uintmax_t>(seed), ToString(ScenarioOf(seed)).c_str());
  for (const std::string& line : result.trace) std::printf("%s\n", line.c_str());
  std::printf("%s after %ju steps, %ju messages\n", result.violation.value_or("passed").c_str(),
              static_cast<uintmax_t>(result.steps), static_cast<uintmax_t>(result.messages));
  return result.violation ? 1 : 0;
}

int RunSeeds(uint64_t from, uint64_t to) {
  for (uint64_t seed = from; seed <= to; ++seed) {
    if (std::optional<std::string> failure = FailureOfSeed(seed)) {
      std::printf("%s\n", failure->c_str());
      return 1;
    }
  }
  std::printf("seeds %ju to %ju passed\n", static_cast<uintmax_t>(from), static_cast<uintmax_t>(to));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2) {
    if (std::optional<uint64_t> seed = NumberAfter(argv[1], "--seed=")) return Replay(*seed);
    if (std::optional<uint64_t> to = NumberAfter(argv[1], "--seeds=")) return RunSeeds(1, *to);
  }
  if (argc == 3) {
    const std::optional<uint64_t> to = NumberAfter(argv[1], "--seeds=");
    const std::optional<uint64_t> from = NumberAfter(argv[2], "--from=");
    if (to.has_value() && from.has_value()) return RunSeeds(*from, *to);
  }
  std::fprintf(stderr, "usage: simulate --seed=N | --seeds=M [--from=N]\n");
  return 2;
}
