// One direction of a pair: a byte ring with one writer and one reader in different processes.
//
// Records are whole multiples of a cache line, and none crosses an end of the ring: what is longer than the bytes left
// before it has to be cut there, which is the writer's business. The writer reserves, fills, commits, and publishes
// many records at once; the reader refreshes, peeks, consumes, and publishes what it consumed. Each side keeps its own
// index privately and only ever *stores* it to shared memory; the other side's index is checked on every load. An
// impossible one sets broken() for good: the peer is not to be trusted any more.
//
// A writer that finds everything consumed goes back to where the ring began: so a connection whose messages come
// one after another uses little of it, and not in time all, which would then cost memory and be in no cache.
//
// Thread: one at a time per side (the queue pair's lock).

#ifndef VERBENA_TRANSPORT_SOFT_BYTE_RING_H_
#define VERBENA_TRANSPORT_SOFT_BYTE_RING_H_

#include <algorithm>
#include <cassert>

#include "transport/soft/shared_layout.h"

namespace verbena::soft {

// What a record of this many bytes takes in the ring.
constexpr size_t RecordBytes(size_t bytes) { return (bytes + kCacheLineBytes - 1) / kCacheLineBytes * kCacheLineBytes; }

// Where the bytes of a ring stand. Position 0 stands at `bytes` + `begin`; behind `bytes` + kRingBytes it goes on at
// `bytes`. That is an end: no record crosses it.
struct RingBytes {
  std::byte* bytes;
  uint64_t begin = 0;  // A multiple of a cache line.

  std::byte* at(uint64_t position) const { return bytes + (position + begin) % kRingBytes; }
  // The end that follows `position`.
  uint64_t EndAfter(uint64_t position) const { return ((position + begin) / kRingBytes + 1) * kRingBytes - begin; }
};

// The request ring that this end of a pair writes: it begins in the page of the control lines.
inline RingBytes RequestRing(PairMemory& pair, int end) {
  return {pair.request_ring(end), end == 0 ? 0 : kRingBytes - kRingBytesBesideControl};
}
inline RingBytes ResponseRing(PairMemory& pair, int end) { return {pair.response_rings[end]}; }

// Room for what stands before a record's payload, and for some payload.
inline constexpr size_t kRingBytesMin = 2 * kCacheLineBytes;

class RingWriter {
 public:
  // `own` and `peer` hold the indices.
  RingWriter(RingBytes ring, RingTail* own, const RingHead* peer) : ring_(ring), own_(own), peer_(peer) {}

  // Where a record of `bytes`, at most bytes_to_end(), may be written, or null if there is no room now (or the ring is
  // broken).
  std::byte* Reserve(size_t bytes) {
    assert(RecordBytes(bytes) <= bytes_to_end());
    return HasRoom(bytes) ? ring_.at(tail_) : nullptr;
  }

  // Whether there is room for so much, in one record or in several.
  bool HasRoom(size_t bytes) { return room_end_ - tail_ >= RecordBytes(bytes) || RefreshHead(RecordBytes(bytes)); }

  // The longest record that can be written where the next one begins: a cache line at least.
  size_t bytes_to_end() const { return ring_.EndAfter(tail_) - tail_; }

  void Commit(size_t bytes) { tail_ += RecordBytes(bytes); }

  // Goes on where the ring began if the reader has nothing left to read, and what is used there is used up.
  // Everything committed is published. Not if much is published at a time: to begin again with each batch was
  // measured to cost a tenth of the messages (docs/performance/many-connections.md).
  void Restart() {
    if (batch_bytes_ > kSmallBatch || tail_ % kRingBytes < kRestartAfter || !restarts_) return;
    if (room_end_ != tail_ + capacity_ && (!RefreshHead(0) || room_end_ != tail_ + capacity_)) return;
    restarted_from_ = tail_;
    tail_ = published_ = restarted_to_ = (tail_ / kRingBytes + 1) * kRingBytes;
    room_end_ = tail_ + capacity_;
    own_->restart.store(tail_, std::memory_order_relaxed);  // The tail is published after it.
  }
  // From now on positions follow each other without gaps.
  void NeverRestart() { restarts_ = false; }

  // Shows everything committed to the reader. Sequentially consistent: what is read next is read after that.
  void Publish() {
    batch_bytes_ = tail_ - published_;
    published_ = tail_;
    own_->tail.store(tail_);
  }

  bool broken() const { return broken_; }

  // A fault on purpose: as if the ring were `bytes` long, or the shortest that a ring can be; and it is used to its
  // end. Before the first record.
  void Narrow(size_t bytes) {
    capacity_ = std::clamp(RecordBytes(bytes), kRingBytesMin, kRingBytes);
    room_end_ = capacity_;
    NeverRestart();
  }
  // The longest record that there can be room for.
  size_t capacity() const { return capacity_; }

 private:
  static constexpr size_t kSmallBatch = 8 * kCacheLineBytes;
  // So that small records begin, and end, beside the control lines.
  static constexpr size_t kRestartAfter = kRingBytesBesideControl - kSmallBatch;
  static_assert(kRingBytesBesideControl > kSmallBatch);

  bool RefreshHead(size_t wanted) {
    uint64_t head = peer_->head.load();
    if (head == restarted_from_) head = restarted_to_;  // It has not followed yet.
    uint64_t last_head = room_end_ - capacity_;
    if (head - last_head > tail_ - last_head) {
      broken_ = true;
      return false;
    }
    room_end_ = head + capacity_;
    return room_end_ - tail_ >= wanted;
  }

  const RingBytes ring_;
  RingTail* const own_;
  const RingHead* const peer_;
  size_t capacity_ = kRingBytes;
  uint64_t tail_ = 0;
  uint64_t published_ = 0;          // The tail, as the reader knows it.
  uint64_t batch_bytes_ = 0;        // How much was published the last time.
  uint64_t room_end_ = kRingBytes;  // How far `tail_` may go: the reader's index, as last read, and the capacity.
  uint64_t restarted_from_ = 0;     // The last time.
  uint64_t restarted_to_ = 0;
  bool restarts_ = true;
  bool broken_ = false;
};

class RingReader {
 public:
  RingReader(RingBytes ring, RingHead* own, const RingTail* peer) : ring_(ring), own_(own), peer_(peer) {}

  // Looks how far the writer has come. Only bytes seen by the last Refresh are offered.
  void Refresh() {
    uint64_t tail = peer_->tail.load();
    if (head_ == tail_) FollowRestart(tail);
    if (tail - head_ > kRingBytes || tail % kCacheLineBytes != 0 || tail - head_ < tail_ - head_) {
      broken_ = true;
      return;
    }
    tail_ = tail;
  }

  // Has the record that comes next, if it has been written, on its way from the writer's processor while the caller
  // finds out whether it was published. With any thread.
  void Prefetch() const {
    const std::byte* next = ring_.at(own_->head.load(std::memory_order_relaxed));
    __builtin_prefetch(next);
    __builtin_prefetch(next + kCacheLineBytes);
    __builtin_prefetch(next + 2 * kCacheLineBytes);  // A call of 64 bytes has three.
  }

  // Whether the writer has come further since.
  bool HasMore() const { return peer_->tail.load(std::memory_order_relaxed) != tail_; }

  // How much there is to read.
  size_t unread() const { return broken_ ? 0 : tail_ - head_; }
  // How much of it can be read on from the next record's beginning: not beyond the end of the ring.
  size_t available() const { return broken_ ? 0 : std::min(tail_, ring_.EndAfter(head_)) - head_; }
  // Whether a Refresh has ever seen anything.
  bool touched() const { return tail_ != 0; }
  const std::byte* Peek() const { return ring_.at(head_); }

  void Consume(size_t bytes) {
    assert(RecordBytes(bytes) <= available());
    head_ += RecordBytes(bytes);
  }

  void Publish() { own_->head.store(head_); }

  bool broken() const { return broken_; }

 private:
  // Past one, or one whose tail was not seen yet, is none.
  void FollowRestart(uint64_t tail) {
    const uint64_t restart = peer_->restart.load(std::memory_order_relaxed);
    const uint64_t left_out = restart - head_;
    if (left_out < kRingBytes && left_out <= tail - head_ && restart % kRingBytes == 0) head_ = tail_ = restart;
  }

  const RingBytes ring_;
  RingHead* const own_;
  const RingTail* const peer_;
  uint64_t head_ = 0;
  uint64_t tail_ = 0;  // As last read from the peer.
  bool broken_ = false;
};

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_BYTE_RING_H_
