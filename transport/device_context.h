// One device as this process uses it: the protection domain that all its loops share, what the device can do, and where
// its asynchronous events go.
//
// There is one for each open device, made on first use and never destroyed: payload memory registered in its domain may
// be held by a user for as long as the process lives. Thread: any.

#ifndef VERBENA_TRANSPORT_DEVICE_CONTEXT_H_
#define VERBENA_TRANSPORT_DEVICE_CONTEXT_H_

#include <cstdint>
#include <functional>
#include <mutex>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "transport/verbs/async_event.h"
#include "transport/verbs/device.h"
#include "transport/verbs/memory_window.h"
#include "transport/verbs/protection_domain.h"

namespace verbena::transport {

class DeviceContext {
 public:
  // The one for `context`, a context that the connection manager opened (rdma_cm_id::verbs) and keeps open.
  static absl::StatusOr<DeviceContext*> For(const verbs::VerbsApi& api, ibv_context* context);

  const verbs::Device& device() const { return device_; }
  const verbs::ProtectionDomain& domain() const { return domain_; }

  // Whether keys can be given to the peer of one queue pair alone (type 2B memory windows).
  bool has_windows() const { return has_windows_; }
  // Access flags of payload blocks: our own RDMA READs land in them (iWARP devices write such memory as if the peer
  // did), and windows are bound to them.
  int block_access() const;
  // RDMA READs that a queue pair may have in flight, here and as the answering side.
  uint16_t read_depth_max() const;

  // Asynchronous events. Any loop may watch the device's descriptor and call this when it is readable; each event goes
  // to the handler of the queue pair that it is about, and is dropped if there is none. Handlers run on the calling
  // thread and must only post.
  void DispatchAsyncEvents();
  using QueuePairHandler = std::function<void(const verbs::AsyncEvent&)>;
  void AddQueuePair(uint32_t number, QueuePairHandler handler);
  void RemoveQueuePair(uint32_t number);

 private:
  DeviceContext(verbs::Device device, verbs::ProtectionDomain domain)
      : device_(std::move(device)),
        domain_(std::move(domain)),
        has_windows_(verbs::HasMemoryWindows(device_, domain_)) {}

  verbs::Device device_;
  const verbs::ProtectionDomain domain_;
  const bool has_windows_;
  std::mutex mu_;
  absl::flat_hash_map<uint32_t, QueuePairHandler> queue_pairs_ ABSL_GUARDED_BY(mu_);
};

}  // namespace verbena::transport

#endif  // VERBENA_TRANSPORT_DEVICE_CONTEXT_H_
