// One run of the simulator: a seed in, a verdict out.

#ifndef VERBENA_TESTS_SIMULATION_RUN_H_
#define VERBENA_TESTS_SIMULATION_RUN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tests/simulation/scenario.h"

namespace verbena::simulation {

struct RunResult {
  std::optional<std::string> violation;  // The first, in words.
  std::vector<std::string> trace;        // If asked for.
  uint64_t steps = 0;
  uint64_t messages = 0;
};

// Runs the scenario with the seed's chance. After every step the safety checks, at the end the ledger's.
RunResult RunScenario(uint64_t seed, const Scenario& scenario, bool traced);

// Runs the seed's own scenario; a violation comes back with the seed, the scenario and the end of the trace.
std::optional<std::string> FailureOfSeed(uint64_t seed);

}  // namespace verbena::simulation

#endif  // VERBENA_TESTS_SIMULATION_RUN_H_
