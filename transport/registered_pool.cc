#include "transport/registered_pool.h"

#include <cassert>

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
  const uint32_t first = size();
  slabs_.push_back(Slab{*std::move(memory), first, *std::move(region)});
  slab_of_.resize(first + count, static_cast<uint32_t>(slabs_.size() - 1));
  free_.reserve(size());
  for (uint32_t i = count; i > 0; --i) free_.push_back(first + i - 1);
  AddPinnedBytes(static_cast<int64_t>(bytes));
  return absl::OkStatus();
}

std::optional<RegisteredPool::Buffer> RegisteredPool::Take() {
  if (free_.empty()) return std::nullopt;
  const uint32_t index = free_.back();
  free_.pop_back();
  return Buffer(this, index);
}

}  // namespace verbena::transport
