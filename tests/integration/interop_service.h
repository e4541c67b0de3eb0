// The test service of interop.proto in the two forms that handlers have: blocking, and on the event loop.

#ifndef VERBENA_TESTS_INTEGRATION_INTEROP_SERVICE_H_
#define VERBENA_TESTS_INTEGRATION_INTEROP_SERVICE_H_

#include <memory>

#include "rpc/service.h"

namespace verbena::interop {

std::unique_ptr<Service> MakeBlockingService();
std::unique_ptr<Service> MakeCallbackService();

}  // namespace verbena::interop

#endif  // VERBENA_TESTS_INTEGRATION_INTEROP_SERVICE_H_
