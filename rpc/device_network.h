// The network of devices: the transport's own factories.

#ifndef VERBENA_RPC_DEVICE_NETWORK_H_
#define VERBENA_RPC_DEVICE_NETWORK_H_

#include "rpc/network.h"

namespace verbena::rpc {

// Never destroyed. Any thread.
Network* DeviceNetwork();

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_DEVICE_NETWORK_H_
