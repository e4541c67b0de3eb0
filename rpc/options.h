// Words of the transport that users of rpc meet in its options, under the public namespace.

#ifndef VERBENA_RPC_OPTIONS_H_
#define VERBENA_RPC_OPTIONS_H_

#include "transport/endpoint.h"
#include "transport/event_loop.h"

namespace verbena {

using transport::CheckDevice;            // Whether this machine has the device that TransportOptions ask for.
using transport::EventLoop;              // A loop that a user drives himself: EventLoop::Create, RunUntil.
using transport::EventLoopOptions;       // How such a loop waits.
using transport::ReadTransportCounters;  // What the transport of this process counts: connections, READs, doorbells …
using transport::TransportCounters;
using transport::TransportOptions;  // Device, buffer sizes and limits, time limits of one connection.
using transport::WaitPolicy;        // kBusy, kEvent, kAdaptive.

}  // namespace verbena

#endif  // VERBENA_RPC_OPTIONS_H_
