// Runs the workload of a seed under the plan of $VERBENA_SOFT_FAULTS: how a failing seed is repeated and cut down.
//
//   VERBENA_SOFT_FAULTS='qp=1,request=5:disconnect' run_workload SEED [TIMES]

#include <cstdio>
#include <cstdlib>

#include "tests/faults/workload.h"

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: VERBENA_SOFT_FAULTS=PLAN run_workload SEED [TIMES]\n");
    return 2;
  }
  const uint64_t seed = std::strtoull(argv[1], nullptr, 10);
  const char* text = std::getenv("VERBENA_SOFT_FAULTS");
  const auto plan = verbena::soft::ParseFaultPlan(text == nullptr ? "" : text);
  if (!plan.ok()) {
    std::fprintf(stderr, "%s\n", plan.status().ToString().c_str());
    return 2;
  }
  const int times = argc > 2 ? std::atoi(argv[2]) : 1;
  for (int i = 0; i < times; ++i) {
    if (const auto failure = verbena::faults::RunWorkload(seed, *plan)) {
      std::printf("%s\n", failure->c_str());
      std::fflush(stdout);
      std::_Exit(1);  // What hangs would hang an orderly exit.
    }
  }
  std::printf("passed\n");
  return 0;
}
