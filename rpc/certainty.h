// How sure a failed call's status is about what happened on the server: verbena::Certainty, GetCertainty, SetCertainty.
// Public name of rpc/core/certainty.h.

#ifndef VERBENA_RPC_CERTAINTY_H_
#define VERBENA_RPC_CERTAINTY_H_

#include "rpc/core/certainty.h"

#endif  // VERBENA_RPC_CERTAINTY_H_
