#include "transport/payload_memory.h"

#include <utility>

#include "transport/payload_arena.h"

namespace verbena::transport {

PayloadMemory::PayloadMemory() = default;
PayloadMemory::PayloadMemory(PayloadMemory&& other) noexcept
    : block_(std::move(other.block_)), size_(std::exchange(other.size_, 0)) {}
PayloadMemory& PayloadMemory::operator=(PayloadMemory&& other) noexcept {
  block_ = std::move(other.block_);
  size_ = std::exchange(other.size_, 0);
  return *this;
}
PayloadMemory::~PayloadMemory() = default;

std::byte* PayloadMemory::data() const { return block_ == nullptr ? nullptr : (*block_)->data(); }

absl::Cord PayloadMemory::ToCord() && {
  if (size_ == 0) return absl::Cord();
  absl::Cord cord = block_->ToCord(0, std::exchange(size_, 0));
  block_.reset();
  return cord;
}

absl::StatusOr<PayloadMemory> AllocatePayload(size_t size) {
  absl::StatusOr<BlockRef> block = PayloadArena::Get().Allocate(size);
  if (!block.ok()) return block.status();
  PayloadMemory memory;
  memory.block_ = std::make_unique<BlockRef>(*std::move(block));
  memory.size_ = size;
  return memory;
}

void SetPayloadMemoryLimit(size_t bytes) { PayloadArena::Get().set_limit(bytes); }

}  // namespace verbena::transport
