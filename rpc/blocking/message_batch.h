// Messages of one stream in their serialized form, in order, on their way from one thread to another: small bodies one
// behind the other in memory that is used again, others in the memory they came in, and so are attachments.
//
// Owner: one of the two threads at a time, who also hands it over. Thread: its owner's.

#ifndef VERBENA_RPC_BLOCKING_MESSAGE_BATCH_H_
#define VERBENA_RPC_BLOCKING_MESSAGE_BATCH_H_

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/cord.h"
#include "absl/types/span.h"
#include "rpc/core/stream_sender.h"

namespace verbena::rpc {

class MessageBatch {
 public:
  // Memory that Clear keeps: two such blocks.
  static constexpr size_t kBlockBytes = size_t{64} << 10;
  static constexpr size_t kBlocksKept = 2;

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
    if (body_bytes > room_.size()) NextBlock(body_bytes);
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
  void Clear() {
    messages_.clear();
    blocks_.resize(std::min(blocks_.size(), kBlocksKept));
    room_ = {};
    next_ = blocks_used_ = charge_ = 0;
  }

 private:
  struct Block {
    std::unique_ptr<std::byte[]> memory;
    size_t bytes;
  };

  void Append(Message&& message) {
    charge_ += message.charge();
    messages_.push_back(std::move(message));
  }
  void NextBlock(size_t bytes) {
    while (blocks_used_ < blocks_.size() && blocks_[blocks_used_].bytes < bytes) ++blocks_used_;
    if (blocks_used_ == blocks_.size()) {
      const size_t block_bytes = std::max(kBlockBytes, bytes);
      blocks_.push_back({std::unique_ptr<std::byte[]>(new std::byte[block_bytes]), block_bytes});
    }
    const Block& block = blocks_[blocks_used_++];
    room_ = {block.memory.get(), block.bytes};
  }

  std::vector<Block> blocks_;
  size_t blocks_used_ = 0;
  absl::Span<std::byte> room_;  // Of the last one used.
  std::vector<Message> messages_;
  size_t next_ = 0;
  uint64_t charge_ = 0;
};

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_BLOCKING_MESSAGE_BATCH_H_
