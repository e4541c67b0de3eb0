// Plays the calls of each seed on the device of VERBENA_TEST_ADDRESS (else the software device) and prints what came of
// them. Exits with 1 at the first seed whose calls ended as they must not.
//
//   run_seeds SEED...

#include <cstdio>
#include <cstdlib>

#include "tests/differential/run.h"

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: run_seeds SEED...\n");
    return 2;
  }
  std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);  // A crash loses no line.
  for (int i = 1; i < argc; ++i) {
    if (!verbena::differential::RunSeed(std::strtoull(argv[i], nullptr, 10))) {
      std::fflush(stdout);
      std::_Exit(1);  // What hangs would hang an orderly exit.
    }
  }
  return 0;
}
