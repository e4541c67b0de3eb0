// How many receives a poll group's queues are to have room for, by what was asked for and what the device can do.

#ifndef VERBENA_TRANSPORT_QUEUE_SIZES_H_
#define VERBENA_TRANSPORT_QUEUE_SIZES_H_

#include <infiniband/verbs.h>

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "transport/endpoint.h"

namespace verbena::transport {

// Receive and header buffers are added in slabs of this many.
inline constexpr uint32_t kSlabBuffers = 128;

// InvalidArgument, naming the option and both numbers, if the device called `name` has no room in a queue for the
// receives that `options` begin with.
absl::Status CheckReceives(const TransportOptions& options, const ibv_device_attr& device, absl::string_view name);

// Connections of a loop that may have a credit beyond their minimum because so many have traffic at the same time.
inline constexpr uint32_t kSpareReceivesMax = 4096;

// Receives that may come to be posted at the same time, with all the connections that there may be; no more than a
// shared receive queue has room for.
uint64_t ReceivesWanted(const TransportOptions& options, const ibv_device_attr& device);
// Of the `receives` that a shared receive queue has room for, those that no connection's minimum needs, nor what
// `options` begin with.
uint32_t SpareReceives(const TransportOptions& options, uint64_t receives);

}  // namespace verbena::transport

#endif  // VERBENA_TRANSPORT_QUEUE_SIZES_H_
