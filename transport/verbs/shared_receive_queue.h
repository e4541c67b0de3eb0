// A shared receive queue: receive buffers that all the queue pairs of one event loop draw from.
//
// Owner: the caller, who keeps every posted buffer registered until its completion came or the queue is destroyed. Its
// protection domain must outlive it; it must outlive the queue pairs that use it. Thread: one.

#ifndef VERBENA_TRANSPORT_VERBS_SHARED_RECEIVE_QUEUE_H_
#define VERBENA_TRANSPORT_VERBS_SHARED_RECEIVE_QUEUE_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "transport/verbs/owned_object.h"
#include "transport/verbs/protection_domain.h"

namespace verbena::verbs {

class SharedReceiveQueue {
 public:
  // Room for at least `receives_max` posted receives of at most `segments_max` segments each.
  static absl::StatusOr<SharedReceiveQueue> Create(const ProtectionDomain& domain, uint32_t receives_max,
                                                   uint32_t segments_max);

  // Posts a linked list. On failure `*first_unposted` is the first request that was not posted (all before it were);
  // ResourceExhausted: the queue is full.
  absl::Status PostReceives(ibv_recv_wr* list, ibv_recv_wr** first_unposted) {
    int result = ibv_post_srq_recv(queue_.get(), list, first_unposted);
    return result == 0 ? absl::OkStatus() : PostError(result);
  }

  // Asks for one IBV_EVENT_SRQ_LIMIT_REACHED when fewer than `limit` receives are left; 0 disarms.
  absl::Status SetLimit(uint32_t limit);

  uint32_t receives_max() const { return receives_max_; }  // As granted by the device.
  ibv_srq* get() const { return queue_.get(); }

 private:
  SharedReceiveQueue(OwnedObject<ibv_srq, &VerbsApi::destroy_srq> queue, uint32_t receives_max)
      : queue_(std::move(queue)), receives_max_(receives_max) {}
  absl::Status PostError(int result) const;

  OwnedObject<ibv_srq, &VerbsApi::destroy_srq> queue_;
  uint32_t receives_max_;
};

}  // namespace verbena::verbs

#endif  // VERBENA_TRANSPORT_VERBS_SHARED_RECEIVE_QUEUE_H_
