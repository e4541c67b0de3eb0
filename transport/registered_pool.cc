#include "transport/registered_pool.h"

#include <sys/mman.h>

#include <cassert>

#include "absl/strings/str_cat.h"
#include "transport/counters.h"

namespace verbena::transport {

RegisteredPool::~RegisteredPool() {
  assert(free() == size());
  for (Slab& slab : slabs_) {
    slab.region.reset();  // Deregister before the memory goes.
    const size_t bytes = slab.count * buffer_bytes_;
    munmap(slab.memory, bytes);
    AddPinnedBytes(-static_cast<int64_t>(bytes));
  }
}

absl::Status RegisteredPool::Grow(uint32_t count) {
  const size_t bytes = count * buffer_bytes_;
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    return absl::ResourceExhaustedError(
        absl::StrCat("frame buffers: the system refused ", bytes, " bytes (", count, " buffers)"));
  }
  auto* const first_byte = static_cast<std::byte*>(memory);
  absl::StatusOr<verbs::MemoryRegion> region =
      verbs::MemoryRegion::Register(domain_, absl::MakeSpan(first_byte, bytes), access_);
  if (!region.ok()) {
    munmap(memory, bytes);
    return region.status();
  }
  const uint32_t first = size();
  slabs_.push_back(Slab{first_byte, first, count, *std::move(region)});
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
