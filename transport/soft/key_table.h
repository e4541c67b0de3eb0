// The memory regions of this process and the one question asked about them: may this key be used for that?
//
// A key is 16 bits of table index and 16 bits of generation; lkey and rkey of a region are equal. The table stands in
// published memory: a peer that wants to READ or WRITE checks it there itself, under a hazard word (see
// direct_memory.h), because the responder's processor takes no part. This is no weaker than the kernel, which lets only
// those processes copy that may also trace this one.
//
// Thread: any. KeyAllows is lock-free.

#ifndef VERBENA_TRANSPORT_SOFT_KEY_TABLE_H_
#define VERBENA_TRANSPORT_SOFT_KEY_TABLE_H_

#include <deque>
#include <mutex>

#include "absl/base/thread_annotations.h"
#include "transport/soft/shared_layout.h"

namespace verbena::soft {

struct MemoryRange {
  uint64_t address;
  uint64_t length;  // Bytes.
};

// Whether `key` names a region of protection domain `domain` that contains `range` and allows every bit of `access`.
bool KeyAllows(const PublishedMemory& memory, uint32_t key, uint32_t domain, MemoryRange range, uint32_t access);

class KeyTable {
 public:
  // `seed` makes the first generation of each slot hard to guess.
  KeyTable(PublishedMemory* memory, uint32_t seed);

  // The key, never 0; 0 if the table is full.
  uint32_t Add(uint32_t domain, MemoryRange range, uint32_t access);

  // From here on nobody starts to use the key. The slot is reused only after Release, the oldest released first.
  void Revoke(uint32_t key);
  void Release(uint32_t key);

  // SEND with invalidate: takes remote access away from a region of this domain. False if there is no such region.
  bool InvalidateRemoteAccess(uint32_t key, uint32_t domain);

 private:
  PublishedRegion& RegionOf(uint32_t key) { return memory_->regions[key >> 16]; }

  PublishedMemory* const memory_;
  std::mutex mu_;
  std::deque<uint32_t> free_keys_ ABSL_GUARDED_BY(mu_);  // The next key of each free slot.
};

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_KEY_TABLE_H_
