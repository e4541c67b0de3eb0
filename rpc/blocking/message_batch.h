// Messages of one stream in their serialized form, in order, on their way from one thread to another: small ones one
// behind the other in a buffer that is used again, others in the memory they came in.
//
// Owner: one of the two threads at a time, who also hands it over. Thread: its owner's.

#ifndef VERBENA_RPC_BLOCKING_MESSAGE_BATCH_H_
#define VERBENA_RPC_BLOCKING_MESSAGE_BATCH_H_

#include <cstddef>
#include <utility>
#include <vector>

#include "absl/strings/cord.h"
#include "absl/types/span.h"
#include "rpc/core/stream_sender.h"

namespace verbena::rpc {

class MessageBatch {
 public:
  struct Message {
    absl::Span<const std::byte> body;  // Of a small one: valid until the batch changes.
    absl::Cord payload;                // Of others: the body and, behind it, the attachment.
    size_t body_bytes;
  };

  // Where a message of so many bytes, behind the others, is to be written: before the batch changes.
  std::byte* Append(size_t bytes) {
    const size_t begin = buffer_.size();
    buffer_.resize(begin + bytes);
    entries_.push_back({absl::Cord(), bytes});
    charge_ += bytes + kStreamMessageOverhead;
    return buffer_.data() + begin;
  }
  // Not empty.
  void Append(absl::Cord payload, size_t body_bytes) { entries_.push_back({std::move(payload), body_bytes}); }
  // The next message. There is one.
  Message Take() {
    Entry& entry = entries_[next_++];
    if (!entry.payload.empty()) return {{}, std::move(entry.payload), entry.body_bytes};
    const size_t begin = std::exchange(taken_bytes_, taken_bytes_ + entry.body_bytes);
    return {absl::MakeConstSpan(buffer_).subspan(begin, entry.body_bytes), {}, entry.body_bytes};
  }
  bool empty() const { return next_ == entries_.size(); }  // All were taken.
  size_t charge() const { return charge_; }  // Of the small ones, taken or not, as a stream's window counts.
  void Clear() {
    buffer_.clear();
    entries_.clear();
    next_ = taken_bytes_ = charge_ = 0;
  }

 private:
  struct Entry {
    absl::Cord payload;  // Empty: the body is in the buffer.
    size_t body_bytes;
  };

  std::vector<std::byte> buffer_;
  std::vector<Entry> entries_;
  size_t next_ = 0;
  size_t taken_bytes_ = 0;  // Of the buffer.
  size_t charge_ = 0;
};

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_BLOCKING_MESSAGE_BATCH_H_
