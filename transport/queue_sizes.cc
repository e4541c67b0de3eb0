#include "transport/queue_sizes.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "transport/protocol/limits.h"

namespace verbena::transport {
namespace {

// Connections whose receives the completion queue has room for on a device without shared receive queues: it is made
// once, for all that may come.
constexpr uint64_t kConnectionsWithOwnReceivesMax = 1024;

// In a shared receive queue: what there is at first, and the minimum of all connections, by slabs.
uint64_t NeededAtLeast(const TransportOptions& options) {
  return options.receive_buffers + uint64_t{protocol::kCreditsPerConnectionMin} * options.connections_max +
         kSlabBuffers;
}

}  // namespace

absl::Status CheckReceives(const TransportOptions& options, const ibv_device_attr& device, absl::string_view name) {
  const auto own_receives_max = static_cast<uint32_t>(std::max(device.max_qp_wr, 0));
  if (device.max_srq <= 0 && options.receive_buffers_per_connection > own_receives_max) {
    return absl::InvalidArgumentError(absl::StrCat("receive_buffers_per_connection is ",
                                                   options.receive_buffers_per_connection, "; ", name, " has room for ",
                                                   own_receives_max, " in a queue pair"));
  }
  if (device.max_srq <= 0) return absl::OkStatus();
  const auto receives_max = static_cast<uint32_t>(std::max(device.max_srq_wr, 0));
  if (options.receive_buffers > receives_max) {
    return absl::InvalidArgumentError(absl::StrCat("receive_buffers is ", options.receive_buffers, "; ", name,
                                                   " has room for ", receives_max, " in a shared receive queue"));
  }
  return absl::OkStatus();
}

uint64_t ReceivesWanted(const TransportOptions& options, const ibv_device_attr& device) {
  const uint64_t connections_max = options.connections_max;
  if (device.max_srq <= 0) {
    return options.receive_buffers_per_connection * std::min(connections_max, kConnectionsWithOwnReceivesMax);
  }
  return std::min<uint64_t>(NeededAtLeast(options) + std::min<uint64_t>(connections_max, kSpareReceivesMax),
                            static_cast<uint64_t>(device.max_srq_wr));
}

uint32_t SpareReceives(const TransportOptions& options, uint64_t receives) {
  return static_cast<uint32_t>(receives - std::min(receives, NeededAtLeast(options)));
}

}  // namespace verbena::transport
