// A reliable-connected queue pair, made through the connection manager, which moves it through its states.
//
// Teardown order: ModifyToError, reap the flushed completions, destroy this handle, then the connection id, and only
// then the buffers that its work requests named.
//
// Owner: the caller. Its connection id, protection domain, completion queues and shared receive queue must outlive it.
// Thread: one, the same as its completion queues'.

#ifndef VERBENA_TRANSPORT_VERBS_QUEUE_PAIR_H_
#define VERBENA_TRANSPORT_VERBS_QUEUE_PAIR_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "transport/verbs/completion_queue.h"
#include "transport/verbs/connection_id.h"
#include "transport/verbs/owned_object.h"
#include "transport/verbs/protection_domain.h"
#include "transport/verbs/shared_receive_queue.h"

namespace verbena::verbs {

struct QueuePairOptions {
  const CompletionQueue* send_completions = nullptr;     // Required.
  const CompletionQueue* receive_completions = nullptr;  // Required; may be the same.
  const SharedReceiveQueue* shared_receives = nullptr;   // Null: the queue pair has a receive queue of its own.
  uint32_t sends_max = 0;                                // Send queue slots.
  uint32_t receives_max = 0;                             // Receive queue slots; ignored with shared_receives.
  uint32_t send_segments_max = 1;                        // Per work request.
  uint32_t receive_segments_max = 1;
  uint32_t inline_bytes_max = 0;  // A wish: made with less, down to 0, where the device has less.
  bool signal_all_sends = false;  // False: only those with IBV_SEND_SIGNALED complete.
};

class QueuePair {
 public:
  // On an id whose address is resolved, or that came with a connect request; at most one queue pair per id. A failure
  // for want of lockable memory names the limit and the remedy.
  static absl::StatusOr<QueuePair> Create(const ConnectionId& id, const ProtectionDomain& domain,
                                          const QueuePairOptions& options);

  // Posts a linked list with one doorbell. On failure `*first_unposted` is the first request that was not posted (all
  // before it were). ResourceExhausted: more in flight than sends_max().
  absl::Status PostSends(ibv_send_wr* list, ibv_send_wr** first_unposted) {
    int result = ibv_post_send(raw_, list, first_unposted);
    return result == 0 ? absl::OkStatus() : CallFailure("ibv_post_send", result);
  }
  // The same for a queue pair with a receive queue of its own.
  absl::Status PostReceives(ibv_recv_wr* list, ibv_recv_wr** first_unposted) {
    int result = ibv_post_recv(raw_, list, first_unposted);
    return result == 0 ? absl::OkStatus() : CallFailure("ibv_post_recv", result);
  }

  // Everything posted completes with success or a flush error; nothing posted later is performed.
  absl::Status ModifyToError();
  // Sets the time the peer's NIC waits before it retries after "receiver not ready", in the code of the InfiniBand
  // specification (0 is the longest, 655 ms; 12 is 0.64 ms). From the state RTR on.
  absl::Status SetReceiverNotReadyTimer(uint8_t code);
  absl::StatusOr<ibv_qp_state> QueryState() const;

  uint32_t number() const { return raw_->qp_num; }
  uint32_t sends_max() const { return capabilities_.max_send_wr; }             // As granted by the device.
  uint32_t inline_bytes_max() const { return capabilities_.max_inline_data; }  // As granted by the device.
  ibv_qp* get() const { return raw_; }

 private:
  using OwnedQueuePair = OwnedObject<rdma_cm_id, &VerbsApi::cm_destroy_qp>;

  QueuePair(OwnedQueuePair owned, const ibv_qp_cap& capabilities)
      : owned_(std::move(owned)), raw_(owned_->qp), capabilities_(capabilities) {}
  absl::Status Modify(ibv_qp_attr* attributes, int mask);
  absl::Status CallFailure(absl::string_view operation, int result) const;

  OwnedQueuePair owned_;  // The id's queue pair, not the id.
  ibv_qp* raw_;
  ibv_qp_cap capabilities_;
};

}  // namespace verbena::verbs

#endif  // VERBENA_TRANSPORT_VERBS_QUEUE_PAIR_H_
