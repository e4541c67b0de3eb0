// The calls of a seed, between this process and a server in another, on the device of VERBENA_TEST_ADDRESS: calls side
// by side, then the server is killed under some and another one takes its place, calls again, and the channel is
// destroyed under the last.

#ifndef VERBENA_TESTS_DIFFERENTIAL_RUN_H_
#define VERBENA_TESTS_DIFFERENTIAL_RUN_H_

#include <cstdint>

namespace verbena::differential {

// Prints a line for each call, in the order in which they were begun, and one for what is held at the end. The lines
// are the same on every device and in every run, but for those of calls that ended as they must not; then it returns
// false. Thread: any but a loop's; one run at a time in a process.
bool RunSeed(uint64_t seed);

}  // namespace verbena::differential

#endif  // VERBENA_TESTS_DIFFERENTIAL_RUN_H_
