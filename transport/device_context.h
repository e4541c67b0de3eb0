// One device as this process uses it: the protection domain that all its loops share, what the device can do, where its
// asynchronous events go, and who is told when it is removed.
//
// There is one for each open device, made on first use. It belongs to the process until the device is removed, or
// fails; from then on to the poll groups that still use it, and ends with the last of them. A device that comes back is
// another one. What is made of the device is gone before the context that it was made of: poll groups own what they
// made and hold this; the registrations of payload memory and of users' memory, which they may hold for as long as they
// like, end with this; and the connection manager keeps the context open for as long as an id is bound to the device,
// so that this has one of its own, the anchor, which goes last. Thread: any.

#ifndef VERBENA_TRANSPORT_DEVICE_CONTEXT_H_
#define VERBENA_TRANSPORT_DEVICE_CONTEXT_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "transport/verbs/async_event.h"
#include "transport/verbs/cm_event_channel.h"
#include "transport/verbs/connection_id.h"
#include "transport/verbs/device.h"
#include "transport/verbs/memory_window.h"
#include "transport/verbs/protection_domain.h"

namespace verbena::transport {

class DeviceContext {
 public:
  // The one for the device that `id` is bound to. FailedPrecondition if another device has the id's address.
  static absl::StatusOr<std::shared_ptr<DeviceContext>> For(const verbs::ConnectionId& id);
  // Of every device that is in use and has not been removed.
  static std::vector<std::shared_ptr<DeviceContext>> All();
  ~DeviceContext();

  const verbs::Device& device() const { return device_; }
  const verbs::ProtectionDomain& domain() const { return domain_; }

  // Whether keys can be given to the peer of one queue pair alone (type 2B memory windows).
  bool has_windows() const { return has_windows_; }
  // Access flags of payload blocks: our own RDMA READs land in them (iWARP devices write such memory as if the peer
  // did), and windows are bound to them.
  int block_access() const;
  // Access flags of the user's memory: nothing lands in it.
  int lent_access() const { return has_windows_ ? IBV_ACCESS_MW_BIND : 0; }
  // The completion vector of the next completion queue: each in turn, so that the device's interrupts, which the system
  // spreads over processors, are spread over the event loops.
  int TakeCompletionVector();

  // Events. Any loop may watch both descriptors, and calls this when one is readable. Each asynchronous event goes to
  // the handler of the queue pair that it is about, and is dropped if there is none. What a User says is told to all of
  // them. Handlers run on the calling thread and must only post.
  int async_event_fd() const { return device_.async_event_fd(); }
  int cm_event_fd() const { return channel_.fd(); }
  void DispatchEvents();
  using QueuePairHandler = std::function<void(const verbs::AsyncEvent&)>;
  void AddQueuePair(uint32_t number, QueuePairHandler handler);
  void RemoveQueuePair(uint32_t number);
  // What whoever uses a removed device is told.
  absl::Status RemovedError() const;
  struct User {
    std::function<void()> on_removed;  // The device.
    // That a shared receive queue, anybody's, has come to have fewer receives than its limit. Null: nobody asks.
    std::function<void(const ibv_srq*)> on_receives_low;
  };
  // Until RemoveUser(key). Unavailable: the device was removed already.
  absl::Status AddUser(const void* key, User user);
  void RemoveUser(const void* key);

 private:
  DeviceContext(verbs::CmEventChannel channel, verbs::ConnectionId anchor, verbs::Device device,
                verbs::ProtectionDomain domain)
      : channel_(std::move(channel)),
        anchor_(std::move(anchor)),
        device_(std::move(device)),
        domain_(std::move(domain)),
        has_windows_(verbs::HasMemoryWindows(device_, domain_)) {}
  static absl::StatusOr<std::shared_ptr<DeviceContext>> Make(const verbs::ConnectionId& id);
  // Each returns whether an event among those that are there says that the device is gone.
  bool DispatchAsyncEvents();
  bool ReadAnchorsEvents();
  void OnRemoved();

  // In the order of making: what goes last comes first.
  verbs::CmEventChannel channel_;
  const verbs::ConnectionId anchor_;
  verbs::Device device_;
  const verbs::ProtectionDomain domain_;
  const bool has_windows_;
  std::atomic<uint32_t> completion_vectors_taken_ = 0;
  std::mutex mu_;
  absl::flat_hash_map<uint32_t, QueuePairHandler> queue_pairs_ ABSL_GUARDED_BY(mu_);
  absl::flat_hash_map<const void*, User> users_ ABSL_GUARDED_BY(mu_);
  bool removed_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace verbena::transport

#endif  // VERBENA_TRANSPORT_DEVICE_CONTEXT_H_
