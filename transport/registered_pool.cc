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
  std::byte* const first_byte = memory->bytes().data();
  for (uint32_t i = 0; i < count; ++i) places_.push_back({first_byte + i * buffer_bytes_, region->lkey()});
  slabs_.push_back(Slab{*std::move(memory), *std::move(region)});
  free_.reserve(size());
  for (uint32_t i = count; i > 0; --i) free_.push_back(first + i - 1);
  AddPinnedBytes(static_cast<int64_t>(bytes));
  return absl::OkStatus();
}

}  // namespace verbena::transport
