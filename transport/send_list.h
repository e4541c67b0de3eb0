// Work requests queued for one queue pair, posted together: Queue builds the list, Flush rings the doorbell once. Of
// SENDs in a row the last alone asks for a completion, which says that those before it have succeeded too.
//
// Owner: a link. Thread: its loop's. Fixed size: nothing is allocated.

#ifndef VERBENA_TRANSPORT_SEND_LIST_H_
#define VERBENA_TRANSPORT_SEND_LIST_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "transport/verbs/queue_pair.h"

namespace verbena::transport {

class SendList {
 public:
  static constexpr size_t kCapacity = 16;  // Work requests.

  bool full() const { return size_ == kCapacity; }
  bool empty() const { return size_ == 0; }

  // Each needs room: full() is false. `bytes` must stay as they are until the completion, with `send_inline` until
  // Flush.
  void QueueSend(uint64_t wr_id, const void* bytes, uint32_t length, uint32_t lkey, bool send_inline);
  // One without bytes, for the caller to say what it asks for.
  ibv_send_wr& QueueBare(uint64_t wr_id);
  void QueueRead(uint64_t wr_id, void* to, uint32_t length, uint32_t lkey, uint64_t remote_address, uint32_t rkey);

  // Posts all, in order, and empties the list. After an error `*unposted` is the list of those that were not posted and
  // will not complete, valid until the next call; those before them will.
  absl::Status Flush(verbs::QueuePair& queue_pair, ibv_send_wr** unposted);
  // Empties the list without posting; returns what was in it, valid until the next call.
  ibv_send_wr* Discard();

 private:
  ibv_send_wr& Append(uint64_t wr_id, uint64_t address, uint32_t length, uint32_t lkey);

  size_t size_ = 0;
  ibv_send_wr* last_send_ = nullptr;  // The one queued last, if it is a SEND.
  std::array<ibv_send_wr, kCapacity> requests_ = {};
  std::array<ibv_sge, kCapacity> segments_;
};

}  // namespace verbena::transport

#endif  // VERBENA_TRANSPORT_SEND_LIST_H_
