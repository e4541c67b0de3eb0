// The process's payload memory: page-aligned blocks that large payloads are sent from and fetched into.
//
// Blocks come in size classes and are kept for the next use, most recently used first (its bytes and its registration
// are warm). What was kept for some seconds and not needed is given back to the system, little by little, but for the
// last 16 MiB. They are shared by all loops and may be released on any thread: a user may hold a received payload for
// as long as he likes. Of small ones a loop has some at hand (payload_magazine.h) and does not come here. Each is for
// threads of the memory node (NUMA) that it was made for, unless with all that is kept the limit leaves no room.
//
// A block is reference counted: a PayloadMemory, a Cord made of it, a landing, an export each hold one reference.

#ifndef VERBENA_TRANSPORT_PAYLOAD_ARENA_H_
#define VERBENA_TRANSPORT_PAYLOAD_ARENA_H_

#include <algorithm>
#include <atomic>
#include <compare>
#include <cstddef>
#include <mutex>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/btree_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/cord.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "transport/device_regions.h"
#include "transport/mapped_memory.h"
#include "transport/numa_node.h"
#include "transport/verbs/protection_domain.h"

namespace verbena::transport {

class PayloadArena;

// Thread: Ref and Unref any; the bytes belong to whoever holds the block.
class PayloadBlock {
 public:
  std::byte* data() const { return memory_.bytes().data(); }
  size_t capacity() const { return memory_.bytes().size(); }
  int numa_node() const { return numa_node_; }  // Of the thread that it was made for.

  // The first `size` bytes are about to be written: takes their pages together, which costs less than a fault for each,
  // unless an earlier user has. What the system refuses is left to faults. From the front; who holds the block alone.
  void PrepareToWrite(size_t size) {
    if (size > populated_) Populate(size);
  }

  // The whole block, registered to land RDMA READs in and to bind windows to; until it is unmapped or the arena is told
  // to deregister.
  DeviceRegions& regions() { return regions_; }

 private:
  friend class PayloadArena;
  friend class BlockRef;
  PayloadBlock(PayloadArena* arena, MappedMemory memory)
      : arena_(arena),
        memory_(std::move(memory)),
        numa_node_(NumaNodeOfThisThread()),
        populated_(memory_.set_aside() ? capacity() : 0),
        regions_(memory_.bytes(), DeviceRegions::Use::kSendAndLand) {}
  void Populate(size_t size);

  PayloadArena* const arena_;
  const MappedMemory memory_;
  const int numa_node_;
  size_t populated_;  // The pages of so many bytes, from the front, have been asked for.
  std::atomic<int> references_ = 0;
  DeviceRegions regions_;  // Behind the memory: they go first.
};

// One reference. Copyable.
class BlockRef {
 public:
  BlockRef() = default;
  explicit BlockRef(PayloadBlock* block);
  BlockRef(const BlockRef& other) : BlockRef(other.block_) {}
  BlockRef(BlockRef&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  BlockRef& operator=(BlockRef other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }
  ~BlockRef();

  PayloadBlock* get() const { return block_; }
  PayloadBlock* operator->() const { return block_; }
  explicit operator bool() const { return block_ != nullptr; }

  // `size` bytes from `offset` on, as a Cord that holds a reference.
  absl::Cord ToCord(size_t offset, size_t size) const;

 private:
  friend class PayloadArena;
  // One more to a block that somebody holds; empty if nobody does. The arena's lock is held: the block stays mapped.
  static BlockRef IfHeld(PayloadBlock* block);

  PayloadBlock* block_ = nullptr;
};

class PayloadArena {
 public:
  // The process's arena. Never destroyed: a Cord may outlive everything else.
  static PayloadArena& Get();

  // A block of at least `size` bytes. ResourceExhausted past the limit, with both numbers.
  absl::StatusOr<BlockRef> Allocate(size_t size);

  // The block that `[address, address + size)` stands in, or an empty reference: then the bytes are not payload memory.
  BlockRef Find(const void* address, size_t size);

  // Ends every block's registration in this domain, before the domain does. The bytes stay, whoever holds them. Nobody
  // uses or asks for a region of it meanwhile.
  void Deregister(const verbs::ProtectionDomain& domain);

  // To be called now and then, by each loop with links, with its steady clock: what the loop has at hand is kept here
  // again, and blocks that were kept and not needed in the last kPeriod are given back, the largest first, at most
  // kGivenBackMax at a time, for it takes time to deregister them. True if more than kKeptIdle is kept still.
  bool GiveBackUnused(absl::Time now);
  static constexpr absl::Duration kPeriod = absl::Seconds(5);
  static constexpr size_t kGivenBackMax = size_t{32} << 20;  // One larger block goes alone.
  static constexpr size_t kKeptIdle = size_t{16} << 20;

  // Memory mapped for blocks, in use and kept, in bytes.
  size_t mapped_bytes() const;
  // Blocks that somebody holds, or a loop has at hand.
  size_t blocks_in_use() const;

  // The most that Allocate maps, in bytes; kPayloadMemoryLimitDefault unless it is set.
  void set_limit(size_t bytes);

 private:
  friend class BlockRef;
  friend class PayloadMagazine;
  void Release(PayloadBlock* block);
  // Nobody holds these any more; they are counted as in use until now. Any thread.
  void Keep(absl::Span<PayloadBlock* const> blocks);

  struct Kind {
    size_t capacity;
    int numa_node;
    auto operator<=>(const Kind&) const = default;
  };
  // Blocks of one kind that nobody holds.
  struct Kept {
    std::vector<PayloadBlock*> blocks;  // Back = most recently used.
    size_t unused = 0;  // The fewest that there were since GiveBackUnused has counted: the first of them.
  };
  // Deregisters and unmaps the least recently used of these.
  void UnmapFirstLocked(Kept& kept) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Unmaps kept blocks until at most `kept_max` bytes are kept.
  void TrimLocked(size_t kept_max) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Empty: none of that kind is kept.
  BlockRef TakeKeptLocked(Kind kind) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // The same, of another memory node, if to map one more is past the limit.
  BlockRef TakeForeignLocked(size_t capacity) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool HasRoomLocked(size_t capacity) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    return capacity <= limit_ - std::min(mapped_, limit_);
  }
  // Counts `capacity` as mapped, if the limit allows it.
  absl::Status ReserveLocked(size_t capacity) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  mutable std::mutex mu_;
  size_t limit_ ABSL_GUARDED_BY(mu_);
  size_t mapped_ ABSL_GUARDED_BY(mu_) = 0;
  size_t kept_ ABSL_GUARDED_BY(mu_) = 0;
  size_t in_use_ ABSL_GUARDED_BY(mu_) = 0;
  absl::btree_map<Kind, Kept> free_ ABSL_GUARDED_BY(mu_);
  absl::Time period_end_ ABSL_GUARDED_BY(mu_) = absl::InfinitePast();
  absl::btree_map<const std::byte*, PayloadBlock*> by_address_ ABSL_GUARDED_BY(mu_);

  PayloadArena();
};

// The capacity of the block that Allocate(size) returns: a multiple of the page, in four steps for each power of two,
// so that at most a fifth is wasted.
size_t PayloadBlockCapacity(size_t size);

}  // namespace verbena::transport

#endif  // VERBENA_TRANSPORT_PAYLOAD_ARENA_H_
