// Keys and values that an application attaches to a call: verbena::Metadata. Public name of rpc/core/metadata.h.

#ifndef VERBENA_RPC_METADATA_H_
#define VERBENA_RPC_METADATA_H_

#include "rpc/core/metadata.h"

#endif  // VERBENA_RPC_METADATA_H_
