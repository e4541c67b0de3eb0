// An RDMA device, open: what it is and what it can do.
//
// Owner: a Device made by Open owns its context and closes it; one made by Borrow describes a context that somebody
// else keeps open (the connection manager's, in rdma_cm_id::verbs) and closes nothing. Everything made from a device
// (protection domains, completion channels and queues) must be gone before it. Thread: any; the calls are thread-safe.

#ifndef VERBENA_TRANSPORT_VERBS_DEVICE_H_
#define VERBENA_TRANSPORT_VERBS_DEVICE_H_

#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "transport/verbs/async_event.h"
#include "transport/verbs/owned_object.h"
#include "transport/verbs/verbs_api.h"

namespace verbena::verbs {

class Device {
 public:
  // Opens the device of this name ("mlx5_0"). NotFound names the devices that are there.
  static absl::StatusOr<Device> Open(const VerbsApi& api, absl::string_view name);
  // Opens a device of a list that get_device_list returned and that is not freed yet.
  static absl::StatusOr<Device> Open(const VerbsApi& api, ibv_device* device);
  // Describes `context` without owning it; it must stay open for as long as this handle and all that is made from it.
  static absl::StatusOr<Device> Borrow(const VerbsApi& api, ibv_context* context);

  // Asynchronous events: makes their descriptor non-blocking; once, before NextAsyncEvent.
  absl::Status MakeAsyncEventsNonBlocking();
  // The next asynchronous event, acknowledged; nothing if there is none.
  absl::StatusOr<std::optional<AsyncEvent>> NextAsyncEvent();
  int async_event_fd() const { return context_->async_fd; }

  // `port` counts from 1 to attributes().phys_port_cnt.
  absl::StatusOr<ibv_port_attr> QueryPort(uint8_t port) const;
  absl::StatusOr<ibv_gid> QueryGid(uint8_t port, int index) const;

  // One line for people: name, table, firmware, GUID, NUMA node, ports with state, link layer and rate, the limits that
  // matter.
  std::string Describe() const;

  const std::string& name() const { return name_; }
  uint64_t guid() const { return guid_; }       // Host byte order.
  int numa_node() const { return numa_node_; }  // -1: unknown, or a machine without NUMA.
  // iWARP: the memory that READs land in must be registered with IBV_ACCESS_REMOTE_WRITE too, and
  // ConnectionId::Connect may wait for TCP.
  bool is_iwarp() const { return context_->device->transport_type == IBV_TRANSPORT_IWARP; }
  const ibv_device_attr& attributes() const { return attributes_; }
  // Bytes of the longest message, or READ, that each of the ports takes (max_msg_sz). A port that says zero has no say.
  uint32_t message_bytes_max() const { return message_bytes_max_; }
  // Bits per second of the slowest of the ports that were active when the device was opened; 0 if none says.
  uint64_t bits_per_second() const { return bits_per_second_; }
  int completion_vectors() const { return context_->num_comp_vectors; }
  ibv_context* context() const { return context_; }
  const VerbsApi& api() const { return *api_; }

 private:
  using OwnedContext = OwnedObject<ibv_context, &VerbsApi::close_device>;

  static absl::StatusOr<Device> Inspect(const VerbsApi& api, ibv_context* context, std::optional<OwnedContext> owned);
  Device(const VerbsApi& api, ibv_context* context, std::optional<OwnedContext> owned);

  // Constant after construction.
  const VerbsApi* api_;
  ibv_context* context_;
  std::optional<OwnedContext> owned_;  // Empty: borrowed.
  std::string name_;
  uint64_t guid_ = 0;
  int numa_node_ = -1;
  ibv_device_attr attributes_ = {};
  uint32_t message_bytes_max_ = std::numeric_limits<uint32_t>::max();
  uint64_t bits_per_second_ = 0;
};

}  // namespace verbena::verbs

#endif  // VERBENA_TRANSPORT_VERBS_DEVICE_H_
