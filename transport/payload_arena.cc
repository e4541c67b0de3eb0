#include "transport/payload_arena.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "transport/counters.h"
#include "transport/payload_magazine.h"
#include "transport/payload_mapper.h"
#include "transport/payload_memory.h"

namespace verbena::transport {
namespace {

constexpr size_t kPageBytes = 4096;
// A multiple of it, so that who writes little by little makes few system calls.
constexpr size_t kPopulatedBytesAtOnce = size_t{64} << 10;
// Freed blocks kept for the next use; more are given back to the system.
constexpr size_t kKeptBytesMax = size_t{2} << 30;
// The largest size whose rounding up cannot overflow.
constexpr size_t kSizeMax = size_t{1} << 60;

}  // namespace

size_t PayloadBlockCapacity(size_t size) {
  const size_t wanted = std::max(size, kPageBytes);
  const size_t step = std::max(std::bit_floor(wanted) / 4, kPageBytes);
  return (wanted + step - 1) / step * step;
}

void PayloadBlock::Populate(size_t size) {
  const size_t end =
      std::min((size + kPopulatedBytesAtOnce - 1) / kPopulatedBytesAtOnce * kPopulatedBytesAtOnce, capacity());
  memory_.Populate(populated_, end - populated_);
  populated_ = end;
}

BlockRef::BlockRef(PayloadBlock* block) : block_(block) {
  if (block_ != nullptr) block_->references_.fetch_add(1, std::memory_order_relaxed);
}

BlockRef BlockRef::IfHeld(PayloadBlock* block) {
  BlockRef reference;
  int holders = block->references_.load(std::memory_order_relaxed);
  while (holders > 0 && !block->references_.compare_exchange_weak(holders, holders + 1, std::memory_order_acquire)) {
  }
  if (holders > 0) reference.block_ = block;
  return reference;
}

BlockRef::~BlockRef() {
  if (block_ == nullptr) return;
  if (block_->references_.fetch_sub(1, std::memory_order_acq_rel) == 1) block_->arena_->Release(block_);
}

absl::Cord BlockRef::ToCord(size_t offset, size_t size) const {
  const absl::string_view bytes(reinterpret_cast<const char*>(block_->data() + offset), size);
  return absl::MakeCordFromExternal(bytes, [reference = *this] {});
}

PayloadArena::PayloadArena() : limit_(kPayloadMemoryLimitDefault) {}

PayloadArena& PayloadArena::Get() {
  static PayloadArena* const arena = new PayloadArena;
  return *arena;
}

absl::StatusOr<BlockRef> PayloadArena::Allocate(size_t size) {
  if (size > kSizeMax) return absl::ResourceExhaustedError(absl::StrCat("payload memory: ", size, " bytes asked for"));
  const size_t capacity = PayloadBlockCapacity(size);
  PayloadMagazine* const at_hand = PayloadMagazine::OfThisThread();
  PayloadBlock* const warm = at_hand == nullptr ? nullptr : at_hand->Take(capacity);
  if (warm != nullptr) return BlockRef(warm);
  absl::Status reserved;
  {
    const std::lock_guard lock(mu_);
    if (BlockRef kept = TakeKeptLocked({capacity, NumaNodeOfThisThread()})) return kept;
    if (BlockRef foreign = TakeForeignLocked(capacity)) return foreign;
    reserved = ReserveLocked(capacity);
  }
  if (!reserved.ok()) return at_hand != nullptr && at_hand->GiveBack() ? Allocate(size) : reserved;
  absl::StatusOr<MappedMemory> memory =
      MappedMemory::Map(capacity, "payload memory", PayloadMapper());  // May take long.
  const std::lock_guard lock(mu_);
  if (!memory.ok()) {
    mapped_ -= capacity;
    return memory.status();
  }
  auto* const block = new PayloadBlock(this, *std::move(memory));
  by_address_.emplace(block->data(), block);
  ++in_use_;
  return BlockRef(block);
}

BlockRef PayloadArena::TakeKeptLocked(Kind kind) {
  const auto found = free_.find(kind);
  if (found == free_.end() || found->second.blocks.empty()) return BlockRef();
  Kept& kept = found->second;
  PayloadBlock* const block = kept.blocks.back();
  kept.blocks.pop_back();
  kept.unused = std::min(kept.unused, kept.blocks.size());
  kept_ -= kind.capacity;
  ++in_use_;
  return BlockRef(block);
}

// To copy to another node's memory costs less than to unmap that, and all that is kept with it, and to map and register
// some here.
BlockRef PayloadArena::TakeForeignLocked(size_t capacity) {
  if (HasRoomLocked(capacity)) return BlockRef();
  for (auto kept = free_.lower_bound({capacity, 0}); kept != free_.end() && kept->first.capacity == capacity; ++kept) {
    if (BlockRef block = TakeKeptLocked(kept->first)) return block;
  }
  return BlockRef();
}

absl::Status PayloadArena::ReserveLocked(size_t capacity) {
  if (!HasRoomLocked(capacity)) TrimLocked(0);
  if (!HasRoomLocked(capacity)) {
    return absl::ResourceExhaustedError(absl::StrCat("payload memory: ", capacity, " bytes asked for, ", mapped_,
                                                     " mapped, limit ", limit_, " (SetPayloadMemoryLimit)"));
  }
  mapped_ += capacity;
  return absl::OkStatus();
}

void PayloadArena::Release(PayloadBlock* block) {
  PayloadMagazine* const at_hand = PayloadMagazine::OfThisThread();
  if (at_hand == nullptr || !at_hand->Put(block)) Keep({&block, 1});
}

void PayloadArena::Keep(absl::Span<PayloadBlock* const> blocks) {
  const std::lock_guard lock(mu_);
  assert(in_use_ >= blocks.size());
  in_use_ -= blocks.size();
  for (PayloadBlock* const block : blocks) {
    kept_ += block->capacity();
    free_[{block->capacity(), block->numa_node()}].blocks.push_back(block);
  }
  if (kept_ > kKeptBytesMax) TrimLocked(kKeptBytesMax);
}

void PayloadArena::TrimLocked(size_t kept_max) {
  for (auto& [kind, kept] : free_) {
    while (kept_ > kept_max && !kept.blocks.empty()) UnmapFirstLocked(kept);
  }
}

void PayloadArena::UnmapFirstLocked(Kept& kept) {
  const std::unique_ptr<PayloadBlock> block(kept.blocks.front());
  kept.blocks.erase(kept.blocks.begin());
  if (kept.unused > 0) --kept.unused;
  by_address_.erase(block->data());
  kept_ -= block->capacity();
  mapped_ -= block->capacity();
}

bool PayloadArena::GiveBackUnused(absl::Time now) {
  if (PayloadMagazine* const at_hand = PayloadMagazine::OfThisThread(); at_hand != nullptr) at_hand->GiveBack();
  const std::lock_guard lock(mu_);
  if (now < period_end_) return kept_ > kKeptIdle;
  period_end_ = now + kPeriod;
  const size_t mapped_before = mapped_;
  for (auto kept = free_.rbegin(); kept != free_.rend(); ++kept) {
    auto& [kind, blocks] = *kept;
    while (blocks.unused > 0 && kept_ > kKeptIdle) {
      const size_t given_back = mapped_before - mapped_;
      if (given_back > 0 && given_back + kind.capacity > kGivenBackMax) return true;  // The rest stays unused.
      UnmapFirstLocked(blocks);
    }
    blocks.unused = blocks.blocks.size();
  }
  return kept_ > kKeptIdle;
}

BlockRef PayloadArena::Find(const void* address, size_t size) {
  const auto* const first = static_cast<const std::byte*>(address);
  const std::lock_guard lock(mu_);
  auto next = by_address_.upper_bound(first);
  if (next == by_address_.begin()) return BlockRef();
  PayloadBlock* const block = std::prev(next)->second;
  const size_t offset = static_cast<size_t>(first - block->data());
  if (offset > block->capacity() || size > block->capacity() - offset) return BlockRef();
  return BlockRef::IfHeld(block);  // A free one is nobody's payload.
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
