// A client and a server in one process, and calls that follow from a seed, while the device does what a plan says:
// small ones, large ones both ways and one way, cancelled ones and some that their deadline ends, over one to four
// connections that come back when they fail.
//
// What must hold under any plan: each call completes exactly once, soon after its deadline at the latest, with the
// right bytes or with a status; what is sure about a failed one is never more than is true (a call whose handler ran is
// not "not sent"); once the faults are over, calls succeed again; and when everything is closed nothing is held.

#ifndef VERBENA_TESTS_FAULTS_WORKLOAD_H_
#define VERBENA_TESTS_FAULTS_WORKLOAD_H_

#include <cstdint>
#include <optional>
#include <string>

#include "transport/soft/fault_plan.h"

namespace verbena::faults {

// What did not hold, in words; nothing if all did. Faults of the process are the caller's to plan before, and are over
// afterwards. Thread: any but a loop's; one run at a time in a process.
std::optional<std::string> RunWorkload(uint64_t seed);

// The same under `plan`, said on standard error before so that also a crash can be repeated. What did not hold comes
// with the command that repeats it.
std::optional<std::string> RunWorkload(uint64_t seed, const soft::FaultPlan& plan);

// The same under a plan of all survivable kinds that follows from the seed.
std::optional<std::string> RunWorkloadUnderRandomFaults(uint64_t seed);

}  // namespace verbena::faults

#endif  // VERBENA_TESTS_FAULTS_WORKLOAD_H_
