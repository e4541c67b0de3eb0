// The memory regions and memory windows of this process and the one question asked about them: may this key be used for
// that?
//
// A key is 24 bits that name an object and below them an 8-bit tag, as on a NIC. The name holds a place in the table
// and 8 bits that change with every object there. A region's lkey and rkey are equal; its name and tag, 16 bits beside
// the place, come in an order that only this process knows. A window (type 2B) keeps its name for life, its tag is
// chosen anew by each bind (ibv_inc_rkey); while it is bound, its key serves the peer of one queue pair and nobody
// else, and it is never an lkey.
//
// The table stands in published memory: a peer that wants to READ or WRITE checks it there itself, under a hazard word
// (see direct_memory.h), because the responder's processor takes no part. This is no weaker than the kernel, which lets
// only those processes copy that may also trace this one.
//
// Invariant: the region of a bound window is there; it cannot be revoked before.
//
// Thread: any. KeyAllows is lock-free.

#ifndef VERBENA_TRANSPORT_SOFT_KEY_TABLE_H_
#define VERBENA_TRANSPORT_SOFT_KEY_TABLE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <random>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "transport/soft/shared_layout.h"

namespace verbena::soft {

struct MemoryRange {
  uint64_t address;
  uint64_t length;  // Bytes.
};

// Through which queue pair of the key's owner a key is used. Number 0: none, it is the lkey of a local segment.
struct KeyUser {
  uint32_t domain;  // The queue pair's, or the segment's, protection domain.
  uint32_t queue_pair = 0;
};

inline constexpr int kKeyTagBits = 8;

// The place in the table.
inline uint32_t KeyIndex(uint32_t key) { return key >> kKeyTagBits & 0xffff; }

inline bool Contains(MemoryRange outer, MemoryRange inner) {
  return inner.address >= outer.address && inner.length <= outer.length &&
         inner.address - outer.address <= outer.length - inner.length;
}

inline MemoryRange RangeOf(const PublishedRegion& region) {
  return {.address = region.address.load(std::memory_order_relaxed),
          .length = region.length.load(std::memory_order_relaxed)};
}

// Whether `key` names a region, or a window bound to this queue pair, of the same protection domain that contains
// `range` and allows every bit of `access`.
inline bool KeyAllows(const PublishedMemory& memory, uint32_t key, KeyUser user, MemoryRange range, uint32_t access) {
  const PublishedRegion& region = memory.regions[KeyIndex(key)];
  if (key == 0 || region.key.load() != key) return false;
  const uint32_t queue_pair = region.queue_pair.load(std::memory_order_relaxed);
  return region.domain.load(std::memory_order_relaxed) == user.domain &&
         (queue_pair == 0 || queue_pair == user.queue_pair) &&
         (region.access.load(std::memory_order_relaxed) & access) == access && Contains(RangeOf(region), range);
}

// What an IBV_WR_BIND_MW asks for.
struct WindowBinding {
  uint32_t window_key;  // From now on: the window's name with the chosen tag.
  uint32_t region_key;
  MemoryRange range;
  uint32_t access;  // Remote access flags.
};

class KeyTable {
 public:
  // `seed` makes keys hard to guess.
  KeyTable(PublishedMemory* memory, uint32_t seed);

  // The key, never 0; 0 if the table is full. A fresh window's key allows nothing, but gives it its name.
  uint32_t AddRegion(uint32_t domain, MemoryRange range, uint32_t access);
  uint32_t AddWindow(uint32_t domain);

  // Takes an object away: from here on nobody starts to use its key. Nothing if windows are bound to it; else the key
  // under which a peer may still be copying (0: none). The place is used again only after Release, and not soon.
  std::optional<uint32_t> Revoke(uint32_t key);
  void Release(uint32_t key);

  // Binds a window for `user`, the queue pair that was asked to. False, and nothing changes, unless: the window exists
  // and is not bound; window, region and queue pair are of one domain; the region allows binding, contains the range
  // (not empty) and has LOCAL_WRITE if the window is to be written.
  bool Bind(const WindowBinding& binding, KeyUser user);

  // Takes away what a bind gave. False unless `key` is that of a window bound to this queue pair.
  bool Invalidate(uint32_t key, KeyUser user);

  // The queue pair's life is over: whatever is bound to it is no longer.
  void InvalidateWindowsOf(uint32_t queue_pair);

 private:
  // What only the owner needs to know of an object.
  struct Place {
    enum class Kind : uint8_t { kFree, kRegion, kWindow };

    uint16_t generation;  // Upper half: of the name. Lower half: the tag.
    Kind kind = Kind::kFree;
    uint32_t windows = 0;     // Of a region: bound to it.
    uint32_t domain = 0;      // Of a window.
    uint32_t queue_pair = 0;  // Of a window: bound to this one; 0 = not bound.
    uint32_t region = 0;      // Of a bound window: its region's index.
  };

  // Places that wait before the oldest of them is used again, while there are unused ones.
  static constexpr size_t kPlacesResting = 1024;

  uint32_t Add(Place::Kind kind, uint32_t domain) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool Names(uint32_t key, Place::Kind kind) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool MayBind(const WindowBinding& binding, KeyUser user) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Unbind(uint32_t index) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Publish(uint32_t key, KeyUser user, MemoryRange range, uint32_t access);

  PublishedMemory* const memory_;
  std::mutex mu_;
  std::minstd_rand random_ ABSL_GUARDED_BY(mu_);
  // Of the recurrence that runs through all 65,536 generations of a place before one comes back.
  const uint16_t multiplier_;
  const uint16_t increment_;
  std::vector<Place> places_ ABSL_GUARDED_BY(mu_);     // By index; index 0 is never used. Grows to kMemoryRegionsMax.
  std::deque<uint32_t> resting_ ABSL_GUARDED_BY(mu_);  // Indices of free places, the oldest first.
};

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_KEY_TABLE_H_
