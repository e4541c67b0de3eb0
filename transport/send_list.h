// Work requests queued for one queue pair, posted together: Queue builds the list, Flush rings the doorbell once. Of
// SENDs and binds in a row the last alone asks for a completion, which says that those before it have succeeded too;
// nor need that one, if there is nothing but SENDs and nobody waits for them. What the SEND queued last left of its
// buffer may be filled with more, until something else is queued or the list is posted.
//
// Owner: a poll group's pool (lending_pool.h), which lends it to a link for as long as that has something queued.
// Thread: its loop's. It has a fixed size.

#ifndef VERBENA_TRANSPORT_SEND_LIST_H_
#define VERBENA_TRANSPORT_SEND_LIST_H_

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "transport/verbs/queue_pair.h"
#include "transport/wire/frame.h"

namespace verbena::transport {

class SendList {
 public:
  static constexpr size_t kCapacity = 16;  // Work requests, and what was joined to them.

  bool full() const { return size_ + joined_ >= kCapacity; }
  size_t size() const { return size_; }

  // Each needs room: full() is false. `bytes` must stay as they are until the completion, with `send_inline` until
  // Flush.
  void QueueSend(uint64_t wr_id, const void* bytes, uint32_t length, uint32_t lkey, bool send_inline);
  // Somebody waits for what was queued last.
  void Await() { awaited_ = true; }
  // The bytes behind what was queued last, a SEND from memory that may be written, may be used: so many.
  void LeaveRoom(uint32_t bytes) { room_ = full() ? 0 : bytes; }
  uint32_t room() const { return room_; }
  // Where they are; `Join` appends the first `length` of them to that SEND. room() is at least that much.
  std::byte* end() const {
    const ibv_sge& segment = segments_[size_ - 1];
    return reinterpret_cast<std::byte*>(segment.addr) + segment.length;
  }
  void Join(uint32_t length) {
    assert(length <= room_);
    segments_[size_ - 1].length += length;
    ++joined_;
    LeaveRoom(room_ - length);
  }
  // Room for a header that is sent inline as the work request queued next: it stays as it is until Flush.
  std::byte* NextHeader() { return headers_[size_].data(); }
  // Without bytes, for the caller to say of which window.
  ibv_send_wr& QueueBind(uint64_t wr_id);
  ibv_send_wr& QueueInvalidate(uint64_t wr_id);
  void QueueRead(uint64_t wr_id, void* to, uint32_t length, uint32_t lkey, uint64_t remote_address, uint32_t rkey);

  // Of SENDs alone, none of them awaited: none asks for a completion. False: the list is of other work, too, or one of
  // it is awaited, and nothing has changed.
  bool LeaveUnsignaled();
  // A completion that was asked for says of SENDs posted before that they have succeeded, too.
  bool covers() const { return coverable_ != nullptr || covers_; }

  // Posts all, in order, and empties the list. After an error `*unposted` is the list of those that were not posted and
  // will not complete, valid until the next call; those before them will.
  absl::Status Flush(verbs::QueuePair& queue_pair, ibv_send_wr** unposted);
  // Empties the list without posting; returns what was in it, valid until the next call.
  ibv_send_wr* Discard();
  void Clear() { Discard(); }

 private:
  ibv_send_wr& Append(uint64_t wr_id, uint64_t address, uint32_t length, uint32_t lkey);
  // What was queued last asks for a completion that says of what is before it, too, that it has succeeded.
  void CoverBefore(ibv_send_wr& request);

  size_t size_ = 0;
  size_t joined_ = 0;
  uint32_t room_ = 0;                 // Behind the work request queued last.
  ibv_send_wr* coverable_ = nullptr;  // The one queued last, if it is a SEND or a bind.
  bool covers_ = false;               // One before it asks for a completion and is no READ, or there is a bind.
  bool awaited_ = false;
  std::array<ibv_send_wr, kCapacity> requests_ = {};
  std::array<ibv_sge, kCapacity> segments_;
  std::array<std::array<std::byte, wire::kFrameHeaderBytes>, kCapacity> headers_;
};

}  // namespace verbena::transport

#endif  // VERBENA_TRANSPORT_SEND_LIST_H_
