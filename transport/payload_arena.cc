#include "transport/payload_arena.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "transport/counters.h"

namespace verbena::transport {
namespace {

constexpr size_t kPageBytes = 4096;
constexpr size_t kLimitDefault = size_t{16} << 30;
// Freed blocks kept for the next use; more are given back to the system.
constexpr size_t kKeptBytesMax = size_t{512} << 20;
// The largest size whose rounding up cannot overflow.
constexpr size_t kSizeMax = size_t{1} << 60;

}  // namespace

size_t PayloadBlockCapacity(size_t size) {
  const size_t wanted = std::max(size, kPageBytes);
  const size_t step = std::max(std::bit_floor(wanted) / 4, kPageBytes);
  return (wanted + step - 1) / step * step;
}

BlockRef::BlockRef(PayloadBlock* block) : block_(block) {
  if (block_ != nullptr) block_->references_.fetch_add(1, std::memory_order_relaxed);
}

BlockRef::~BlockRef() {
  if (block_ == nullptr) return;
  if (block_->references_.fetch_sub(1, std::memory_order_acq_rel) == 1) block_->arena_->Release(block_);
}

absl::Cord BlockRef::ToCord(size_t offset, size_t size) const {
  const absl::string_view bytes(reinterpret_cast<const char*>(block_->data() + offset), size);
  return absl::MakeCordFromExternal(bytes, [reference = *this] {});
}

PayloadArena::PayloadArena() : limit_(kLimitDefault) {}

PayloadArena& PayloadArena::Get() {
  static PayloadArena* const arena = new PayloadArena;
  return *arena;
}

absl::StatusOr<BlockRef> PayloadArena::Allocate(size_t size) {
  if (size > kSizeMax) return absl::ResourceExhaustedError(absl::StrCat("payload memory: ", size, " bytes asked for"));
  const size_t capacity = PayloadBlockCapacity(size);
  const std::lock_guard lock(mu_);
  PayloadBlock* block = nullptr;
  std::vector<PayloadBlock*>& kept = free_[capacity];
  if (!kept.empty()) {
    block = kept.back();
    kept.pop_back();
    kept_ -= capacity;
  } else {
    absl::StatusOr<PayloadBlock*> mapped = MapLocked(capacity);
    if (!mapped.ok()) return mapped.status();
    block = *mapped;
  }
  ++in_use_;
  return BlockRef(block);
}

absl::StatusOr<PayloadBlock*> PayloadArena::MapLocked(size_t capacity) {
  if (capacity > limit_ - std::min(mapped_, limit_)) TrimLocked(0);
  if (capacity > limit_ - std::min(mapped_, limit_)) {
    return absl::ResourceExhaustedError(absl::StrCat("payload memory: ", capacity, " bytes asked for, ", mapped_,
                                                     " in use, limit ", limit_, " (SetPayloadMemoryLimit)"));
  }
  void* const memory = mmap(nullptr, capacity, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    return absl::ResourceExhaustedError(absl::StrCat("payload memory: the system refused ", capacity, " bytes"));
  }
  mapped_ += capacity;
  auto* const block = new PayloadBlock(this, static_cast<std::byte*>(memory), capacity);
  by_address_.emplace(block->data(), block);
  return block;
}

void PayloadArena::Release(PayloadBlock* block) {
  const std::lock_guard lock(mu_);
  // Find may have taken a reference between the last Unref and this lock.
  if (block->references_.load(std::memory_order_acquire) != 0) return;
  --in_use_;
  kept_ += block->capacity();
  free_[block->capacity()].push_back(block);
  if (kept_ > kKeptBytesMax) TrimLocked(kKeptBytesMax);
}

void PayloadArena::TrimLocked(size_t kept_max) {
  for (auto& [capacity, blocks] : free_) {
    while (kept_ > kept_max && !blocks.empty()) {
      const std::unique_ptr<PayloadBlock> block(blocks.front());  // The least recently used of its class.
      blocks.erase(blocks.begin());
      by_address_.erase(block->data());
      kept_ -= capacity;
      mapped_ -= capacity;
      block->regions_.Clear();  // Before the memory goes.
      munmap(block->data(), capacity);
    }
  }
}

BlockRef PayloadArena::Find(const void* address, size_t size) {
  const auto* const first = static_cast<const std::byte*>(address);
  const std::lock_guard lock(mu_);
  auto next = by_address_.upper_bound(first);
  if (next == by_address_.begin()) return BlockRef();
  PayloadBlock* const block = std::prev(next)->second;
  const size_t offset = static_cast<size_t>(first - block->data());
  if (offset > block->capacity() || size > block->capacity() - offset) return BlockRef();
  if (block->references_.load(std::memory_order_acquire) == 0) return BlockRef();  // Free: nobody's payload.
  return BlockRef(block);
}

void PayloadArena::Deregister(const verbs::ProtectionDomain& domain) {
  const std::lock_guard lock(mu_);
  for (const auto& [address, block] : by_address_) block->regions_.Deregister(domain);
}

size_t PayloadArena::mapped_bytes() const {
  const std::lock_guard lock(mu_);
  return mapped_;
}

size_t PayloadArena::blocks_in_use() const {
  const std::lock_guard lock(mu_);
  return in_use_;
}

void PayloadArena::set_limit(size_t bytes) {
  const std::lock_guard lock(mu_);
  limit_ = bytes;
}

}  // namespace verbena::transport
