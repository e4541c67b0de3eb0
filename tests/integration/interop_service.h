// The test service of interop.proto in the three forms that handlers have: blocking, by call-backs and reactions, and
// as coroutines.

#ifndef VERBENA_TESTS_INTEGRATION_INTEROP_SERVICE_H_
#define VERBENA_TESTS_INTEGRATION_INTEROP_SERVICE_H_

#include <memory>

#include "rpc/service.h"

namespace verbena::interop {

std::unique_ptr<Service> MakeBlockingService();
std::unique_ptr<Service> MakeCallbackService();
std::unique_ptr<Service> MakeCoroutineService();

}  // namespace verbena::interop

#endif  // VERBENA_TESTS_INTEGRATION_INTEROP_SERVICE_H_
