#include "transport/registered_pool.h"

#include <algorithm>
#include <cassert>
#include <functional>
#include <iterator>
#include <utility>

#include "transport/counters.h"

namespace verbena::transport {

RegisteredPool::~RegisteredPool() {
  assert(free() == size());
  AddPinnedBytes(-static_cast<int64_t>(size() * buffer_bytes_));
}

absl::Status RegisteredPool::Grow(uint32_t count) {
  const size_t bytes = count * buffer_bytes_;
  absl::StatusOr<MappedMemory> memory = MappedMemory::Map(bytes, "frame buffers");
  if (!memory.ok()) return memory.status();
  absl::StatusOr<verbs::MemoryRegion> region = verbs::MemoryRegion::Register(domain_, memory->bytes(), access_);
  if (!region.ok()) return region.status();
  const uint32_t first = FirstOfNew(count);
  std::byte* const first_byte = memory->bytes().data();
  places_.resize(std::max<size_t>(places_.size(), first + count));
  for (uint32_t i = 0; i < count; ++i) places_[first + i] = {first_byte + i * buffer_bytes_, region->lkey()};
  slabs_.emplace(first, Slab{count, *std::move(memory), *std::move(region)});
  size_ += count;
  free_.reserve(size_);
  for (uint32_t i = count; i > 0; --i) free_.push_back(first + i - 1);
  AddPinnedBytes(static_cast<int64_t>(bytes));
  return absl::OkStatus();
}

uint32_t RegisteredPool::FirstOfNew(uint32_t count) const {
  uint32_t first = 0;
  for (const auto& [next, slab] : slabs_) {
    if (next - first >= count) break;
    first = next + slab.count;
  }
  return first;
}

bool RegisteredPool::GiveBackFree(uint32_t stay, size_t bytes_max) {
  if (free_.empty() || size_ <= stay) return false;
  // Each slab's are neighbours then.
  std::sort(free_.begin(), free_.end(), std::greater<>());
  for (auto next = slabs_.end(); next != slabs_.begin();) {
    const auto slab = std::prev(next);
    const uint32_t first = slab->first;
    const uint32_t count = slab->second.count;
    const auto last_free = std::lower_bound(free_.begin(), free_.end(), first + count - 1, std::greater<>());
    const bool all_free = free_.end() - last_free >= count && last_free[count - 1] == first;
    if (!all_free || size_ - count < stay) {
      next = slab;
      continue;
    }
    const size_t bytes = count * buffer_bytes_;
    if (bytes > bytes_max) return true;
    bytes_max -= bytes;
    free_.erase(last_free, last_free + count);
    size_ -= count;
    AddPinnedBytes(-static_cast<int64_t>(bytes));
    next = slabs_.erase(slab);
  }
  return false;
}

}  // namespace verbena::transport
