// Whose calls they are, where what a server has to give is shared among its clients: an authenticated identity, however
// many connections it has, else one connection. A value; two that collide share one share.

#ifndef VERBENA_RPC_CORE_OVERLOAD_CLIENT_ID_H_
#define VERBENA_RPC_CORE_OVERLOAD_CLIENT_ID_H_

#include <cstdint>

namespace verbena::rpc {

enum class ClientId : uint64_t {};

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_CORE_OVERLOAD_CLIENT_ID_H_
