// Messages of one stream in their serialized form, in order, on their way from one thread to another: small ones one
// behind the other in memory that is used again, others in the memory they came in.
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
    absl::Span<const std::byte> body;  // Of a small one: valid until Clear.
    absl::Cord payload;                // Of others: the body and, behind it, the attachment.
    size_t body_bytes;
  };

  // Where a message of so many bytes, behind the others, is to be written: before Clear.
  std::byte* Append(size_t bytes) {
    if (bytes > room_.size()) NextBlock(bytes);
    std::byte* const body = room_.data();
    room_.remove_prefix(bytes);
    entries_.push_back({absl::Cord(), body, bytes});
    charge_ += bytes + kStreamMessageOverhead;
    return body;
  }
  // Not empty.
  void Append(absl::Cord payload, size_t body_bytes) { entries_.push_back({std::move(payload), nullptr, body_bytes}); }
  // The next message. There is one.
  Message Take() {
    Entry& entry = entries_[next_++];
    if (!entry.payload.empty()) return {{}, std::move(entry.payload), entry.body_bytes};
    return {{entry.body, entry.body_bytes}, {}, entry.body_bytes};
  }
  bool empty() const { return next_ == entries_.size(); }  // All were taken.
  size_t charge() const { return charge_; }  // Of the small ones, taken or not, as a stream's window counts.
  void Clear() {
    entries_.clear();
    blocks_.resize(std::min(blocks_.size(), kBlocksKept));
    room_ = {};
    next_ = blocks_used_ = charge_ = 0;
  }

 private:
  struct Block {
    std::unique_ptr<std::byte[]> memory;
    size_t bytes;
  };
  struct Entry {
    absl::Cord payload;     // Empty: the body is in a block.
    const std::byte* body;  // There.
    size_t body_bytes;
  };

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
  std::vector<Entry> entries_;
  size_t next_ = 0;
  size_t charge_ = 0;
};

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_BLOCKING_MESSAGE_BATCH_H_
