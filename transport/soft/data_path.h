// The entries of ibv_context::ops: what the inline functions of <infiniband/verbs.h> call.

#ifndef VERBENA_TRANSPORT_SOFT_DATA_PATH_H_
#define VERBENA_TRANSPORT_SOFT_DATA_PATH_H_

#include <infiniband/verbs.h>

namespace verbena::soft {

void InstallDataPath(ibv_context_ops* operations);

// Entries that do nothing but fail with ENODEV.
void InstallDeadDataPath(ibv_context_ops* operations);

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_DATA_PATH_H_
