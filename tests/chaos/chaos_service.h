// What the servers of the chaos test serve, in the forms that handlers have.

#ifndef VERBENA_TESTS_CHAOS_CHAOS_SERVICE_H_
#define VERBENA_TESTS_CHAOS_CHAOS_SERVICE_H_

#include <memory>

#include "rpc/service.h"
#include "tests/chaos/ledger.h"

namespace verbena::chaos {

// Each notes a call's token in the ledger, which outlives it, before anything else. A request that is not what its
// client sent ends the call as DATA_LOSS.
std::unique_ptr<Service> MakeBlockingService(LedgerWriter* ledger);
std::unique_ptr<Service> MakeReactingService(LedgerWriter* ledger);
std::unique_ptr<Service> MakeCoroutineService(LedgerWriter* ledger);

}  // namespace verbena::chaos

#endif  // VERBENA_TESTS_CHAOS_CHAOS_SERVICE_H_
