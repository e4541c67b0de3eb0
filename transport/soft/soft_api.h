// The software device as a table of verbs calls: see ../verbs/verbs_api.h for the contract, device.h for the device.

#ifndef VERBENA_TRANSPORT_SOFT_SOFT_API_H_
#define VERBENA_TRANSPORT_SOFT_SOFT_API_H_

#include "transport/verbs/verbs_api.h"

namespace verbena::soft {

// Immutable, process-wide, any thread.
const verbs::VerbsApi& SoftApi();

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_SOFT_API_H_
