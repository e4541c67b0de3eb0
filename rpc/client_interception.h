// Has a call's interceptors see it, from its start to its end.
//
// Thread: the channel's loop.

#ifndef VERBENA_RPC_CLIENT_INTERCEPTION_H_
#define VERBENA_RPC_CLIENT_INTERCEPTION_H_

#include "absl/status/status.h"
#include "rpc/interceptor/interceptor.h"
#include "rpc/user_call.h"

namespace verbena::rpc {

// The call starts. Not OK: it is to end with that, before it was sent; nobody hears of it any more.
absl::Status InterceptCall(const ClientInterceptors& makers, UserCall& call);

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_CLIENT_INTERCEPTION_H_
