// The fault plan of the process: hands each new object its share, and says what befalls the calls of the process.
//
// Owner: itself. Thread: any.

#ifndef VERBENA_TRANSPORT_SOFT_PROCESS_FAULTS_H_
#define VERBENA_TRANSPORT_SOFT_PROCESS_FAULTS_H_

#include <optional>

#include "transport/soft/fault_kinds.h"

namespace verbena::soft {

// Takes the plan of $VERBENA_SOFT_FAULTS, if there is one, at the first call; later ones give the same answer. False
// if it cannot be understood: standard error says why, and the device must not open.
bool TakeFaultsOfEnvironment();

// Counts one more object and returns the faults that are meant for it; a queue pair's with those at kPost, for which it
// calls FaultOfNextCall.
FaultPlan FaultsOfNewObject(FaultObject object);

// Counts one more operation of the process and returns the fault that befalls it, if any.
std::optional<Fault> FaultOfNextCall(FaultOperation operation);

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_PROCESS_FAULTS_H_
