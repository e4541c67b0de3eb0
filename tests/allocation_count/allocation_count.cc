#include "tests/allocation_count/allocation_count.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<uint64_t> allocation_count = 0;
std::atomic<uint64_t> free_count = 0;

void* Allocate(size_t size) {
  allocation_count.fetch_add(1, std::memory_order_relaxed);
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}

void* AllocateAligned(size_t size, size_t alignment) {
  allocation_count.fetch_add(1, std::memory_order_relaxed);
  const size_t rounded = (size + alignment - 1) / alignment * alignment;  // As aligned_alloc demands.
  if (void* memory = std::aligned_alloc(alignment, rounded == 0 ? alignment : rounded)) return memory;
  throw std::bad_alloc();
}

void Free(void* memory) {
  if (memory != nullptr) free_count.fetch_add(1, std::memory_order_relaxed);
  std::free(memory);
}

}  // namespace

namespace verbena::testing {

uint64_t AllocationCount() { return allocation_count.load(std::memory_order_relaxed); }

int64_t LiveAllocationCount() {
  return static_cast<int64_t>(AllocationCount() - free_count.load(std::memory_order_relaxed));
}

}  // namespace verbena::testing

// The replaceable functions [new.delete]; those that are not here (arrays, nothrow) call these.
void* operator new(size_t size) { return Allocate(size); }
void* operator new(size_t size, std::align_val_t alignment) {
  return AllocateAligned(size, static_cast<size_t>(alignment));
}
void operator delete(void* memory) noexcept { Free(memory); }
void operator delete(void* memory, size_t /*size*/) noexcept { Free(memory); }
void operator delete(void* memory, std::align_val_t /*alignment*/) noexcept { Free(memory); }
void operator delete(void* memory, size_t /*size*/, std::align_val_t /*alignment*/) noexcept { Free(memory); }
