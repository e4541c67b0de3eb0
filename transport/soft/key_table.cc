#include "transport/soft/key_table.h"

#include <infiniband/verbs.h>

namespace verbena::soft {
namespace {

static_assert(kMemoryRegionsMax == 1u << 16, "a key's middle half is a table index");

// The 24 bits of a key that stay for an object's life.
uint32_t NameOf(uint32_t key) { return key >> kKeyTagBits; }

uint32_t MakeKey(uint32_t index, uint16_t generation) {
  return uint32_t{generation} >> 8 << 24 | index << kKeyTagBits | (generation & 0xff);
}

}  // namespace

// A multiplier of the form 4n + 1 and an odd increment give the recurrence its full period.
KeyTable::KeyTable(PublishedMemory* memory, uint32_t seed)
    : memory_(memory),
      random_(seed),
      multiplier_(static_cast<uint16_t>(random_() << 2 | 1)),
      increment_(static_cast<uint16_t>(random_() | 1)),
      places_(1) {}

uint32_t KeyTable::Add(Place::Kind kind, uint32_t domain) {
  bool all_used = places_.size() == kMemoryRegionsMax;
  if (all_used && resting_.empty()) return 0;
  uint32_t index;
  if (all_used || resting_.size() > kPlacesResting) {
    index = resting_.front();
    resting_.pop_front();
  } else {
    index = static_cast<uint32_t>(places_.size());
    places_.push_back({.generation = static_cast<uint16_t>(random_())});
  }
  places_[index] = {.generation = places_[index].generation, .kind = kind, .domain = domain};
  return MakeKey(index, places_[index].generation);
}

uint32_t KeyTable::AddRegion(uint32_t domain, MemoryRange range, uint32_t access) {
  std::lock_guard lock(mu_);
  uint32_t key = Add(Place::Kind::kRegion, domain);
  if (key != 0) Publish(key, {.domain = domain}, range, access);
  return key;
}

uint32_t KeyTable::AddWindow(uint32_t domain) {
  std::lock_guard lock(mu_);
  return Add(Place::Kind::kWindow, domain);
}

void KeyTable::Publish(uint32_t key, KeyUser user, MemoryRange range, uint32_t access) {
  PublishedRegion& region = memory_->regions[KeyIndex(key)];
  region.domain.store(user.domain, std::memory_order_relaxed);
  region.queue_pair.store(user.queue_pair, std::memory_order_relaxed);
  region.address.store(range.address, std::memory_order_relaxed);
  region.length.store(range.length, std::memory_order_relaxed);
  region.access.store(access, std::memory_order_relaxed);
  region.key.store(key);
}

std::optional<uint32_t> KeyTable::Revoke(uint32_t key) {
  std::lock_guard lock(mu_);
  uint32_t index = KeyIndex(key);
  if (places_[index].windows != 0) return std::nullopt;
  uint32_t used = memory_->regions[index].key.load();
  if (places_[index].queue_pair != 0) Unbind(index);
  memory_->regions[index].key.store(0);
  return used;
}

void KeyTable::Release(uint32_t key) {
  std::lock_guard lock(mu_);
  Place& place = places_[KeyIndex(key)];
  auto next = static_cast<uint16_t>(uint32_t{place.generation} * multiplier_ + increment_);
  place = {.generation = next};
  resting_.push_back(KeyIndex(key));
}

bool KeyTable::Names(uint32_t key, Place::Kind kind) const {
  uint32_t index = KeyIndex(key);
  return index < places_.size() && places_[index].kind == kind &&
         NameOf(MakeKey(index, places_[index].generation)) == NameOf(key);
}

bool KeyTable::MayBind(const WindowBinding& binding, KeyUser user) const {
  if (!Names(binding.window_key, Place::Kind::kWindow) || !Names(binding.region_key, Place::Kind::kRegion)) {
    return false;
  }
  const Place& window = places_[KeyIndex(binding.window_key)];
  const PublishedRegion& region = memory_->regions[KeyIndex(binding.region_key)];
  if (window.queue_pair != 0 || window.domain != user.domain) return false;
  constexpr uint32_t kWrites = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;
  uint32_t needed = IBV_ACCESS_MW_BIND | ((binding.access & kWrites) != 0 ? uint32_t{IBV_ACCESS_LOCAL_WRITE} : 0);
  return region.key.load() == binding.region_key && region.domain.load() == user.domain &&
         (region.access.load() & needed) == needed && binding.range.length != 0 &&
         Contains(RangeOf(region), binding.range);
}

bool KeyTable::Bind(const WindowBinding& binding, KeyUser user) {
  std::lock_guard lock(mu_);
  if (!MayBind(binding, user)) return false;
  Place& window = places_[KeyIndex(binding.window_key)];
  window.queue_pair = user.queue_pair;
  window.region = KeyIndex(binding.region_key);
  ++places_[window.region].windows;
  Publish(binding.window_key, user, binding.range, binding.access);
  return true;
}

bool KeyTable::Invalidate(uint32_t key, KeyUser user) {
  std::lock_guard lock(mu_);
  uint32_t index = KeyIndex(key);
  if (!Names(key, Place::Kind::kWindow) || places_[index].queue_pair != user.queue_pair ||
      places_[index].domain != user.domain || memory_->regions[index].key.load() != key) {
    return false;
  }
  Unbind(index);
  return true;
}

void KeyTable::InvalidateWindowsOf(uint32_t queue_pair) {
  std::lock_guard lock(mu_);
  for (uint32_t index = 1; index < places_.size(); ++index) {
    if (places_[index].queue_pair == queue_pair) Unbind(index);
  }
}

void KeyTable::Unbind(uint32_t index) {
  Place& window = places_[index];
  memory_->regions[index].key.store(0);
  --places_[window.region].windows;
  window.queue_pair = window.region = 0;
}

}  // namespace verbena::soft
