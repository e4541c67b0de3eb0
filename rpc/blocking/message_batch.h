// Messages of one stream in their serialized form, in order, on their way from one thread to another: small bodies one
// behind the other in memory that is used again, others in the memory they came in, and so are attachments.
//
// Owner: one of the two threads at a time, who also hands it over. Thread: its owner's.

#ifndef VERBENA_RPC_BLOCKING_MESSAGE_BATCH_H_
#define VERBENA_RPC_BLOCKING_MESSAGE_BATCH_H_

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/cord.h"
#include "absl/types/span.h"
#include "rpc/blocking/copy_block.h"
#include "rpc/core/stream_sender.h"

namespace verbena::rpc {

class MessageBatch {
 public:
  struct Message {
    bool copied = false;
    size_t body_bytes = 0;
    const std::byte* body = nullptr;  // If copied: valid until Clear.
    absl::Cord beside;                // If copied the attachment; else the body and, behind it, the attachment.

    // As a stream's window counts.
    uint64_t charge() const { return (copied ? body_bytes : 0) + beside.size() + kStreamMessageOverhead; }
  };

  // Where a body of so many bytes, behind the others, is to be written: before Clear.
  std::byte* AppendCopy(size_t body_bytes, absl::Cord attachment) {
    assert(body_bytes <= kCopyBlockBytes);
    if (body_bytes > room_.size()) NextBlock();
    std::byte* const body = room_.data();
    room_.remove_prefix(body_bytes);
    Append({true, body_bytes, body, std::move(attachment)});
    return body;
  }
  // A body and, behind it, the attachment.
  void AppendShared(absl::Cord payload, size_t body_bytes) { Append({false, body_bytes, nullptr, std::move(payload)}); }
  // The next message. There is one.
  Message Take() { return std::move(messages_[next_++]); }
  bool empty() const { return next_ == messages_.size(); }  // All were taken.
  uint64_t charge() const { return charge_; }               // Of all, taken or not.
  // Forgets all. One block is kept for what comes next, and as much for what is said of messages.
  void Clear() {
    messages_.clear();
    if (messages_.capacity() * sizeof(Message) > kCopyBlockBytes) {
      messages_ = std::vector<Message>();  // Not {}, which is a list and keeps the memory.
    }
    if (blocks_.size() > 1) blocks_.resize(1);
    room_ = {};
    next_ = blocks_used_ = charge_ = 0;
  }

 private:
  void NextBlock() {
    if (blocks_used_ == blocks_.size()) blocks_.push_back(TakeCopyBlock());
    room_ = {blocks_[blocks_used_++].get(), kCopyBlockBytes};
  }
  void Append(Message&& message) {
    charge_ += message.charge();
    messages_.push_back(std::move(message));
  }

  std::vector<CopyBlock> blocks_;
  size_t blocks_used_ = 0;
  absl::Span<std::byte> room_;  // What is left of the last block that was used.
  std::vector<Message> messages_;
  size_t next_ = 0;
  uint64_t charge_ = 0;
};

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_BLOCKING_MESSAGE_BATCH_H_
