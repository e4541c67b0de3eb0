#include "transport/soft/key_table.h"

#include <infiniband/verbs.h>

#include <random>

namespace verbena::soft {
namespace {

constexpr uint32_t kRemoteAccess = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;

static_assert(kMemoryRegionsMax == 1u << 16, "a key's upper half is a table index");

// Slots are used in turn, so the same key comes back after 65,536 x 65,535 registrations at the earliest.
uint32_t NextKeyOfSlot(uint32_t key) {
  uint32_t generation = (key + 1) & 0xffff;
  return (key & 0xffff0000) | (generation == 0 ? 1 : generation);  // Key 0 means "none".
}

}  // namespace

bool KeyAllows(const PublishedMemory& memory, uint32_t key, uint32_t domain, MemoryRange range, uint32_t access) {
  const PublishedRegion& region = memory.regions[key >> 16];
  if (key == 0 || region.key.load() != key) return false;
  uint64_t address = region.address.load(std::memory_order_relaxed);
  uint64_t length = region.length.load(std::memory_order_relaxed);
  return region.domain.load(std::memory_order_relaxed) == domain &&
         (region.access.load(std::memory_order_relaxed) & access) == access && range.address >= address &&
         range.length <= length && range.address - address <= length - range.length;
}

KeyTable::KeyTable(PublishedMemory* memory, uint32_t seed) : memory_(memory) {
  std::minstd_rand random(seed);
  for (uint32_t slot = 0; slot < kMemoryRegionsMax; ++slot) {
    free_keys_.push_back(NextKeyOfSlot(slot << 16 | (random() & 0xffff)));
  }
}

uint32_t KeyTable::Add(uint32_t domain, MemoryRange range, uint32_t access) {
  std::lock_guard lock(mu_);
  if (free_keys_.empty()) return 0;
  uint32_t key = free_keys_.front();
  free_keys_.pop_front();
  PublishedRegion& region = RegionOf(key);
  region.domain.store(domain, std::memory_order_relaxed);
  region.address.store(range.address, std::memory_order_relaxed);
  region.length.store(range.length, std::memory_order_relaxed);
  region.access.store(access, std::memory_order_relaxed);
  region.key.store(key);
  return key;
}

void KeyTable::Revoke(uint32_t key) { RegionOf(key).key.store(0); }

void KeyTable::Release(uint32_t key) {
  std::lock_guard lock(mu_);
  free_keys_.push_back(NextKeyOfSlot(key));
}

bool KeyTable::InvalidateRemoteAccess(uint32_t key, uint32_t domain) {
  std::lock_guard lock(mu_);
  PublishedRegion& region = RegionOf(key);
  if (key == 0 || region.key.load() != key || region.domain.load() != domain) return false;
  uint32_t access = region.access.fetch_and(~kRemoteAccess);
  return (access & kRemoteAccess) != 0;
}

}  // namespace verbena::soft
