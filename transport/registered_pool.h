// Frame buffers of one size in registered memory: a poll group's receive buffers, and its send buffers.
//
// Buffers are numbered from 0 and never move. The pool grows by slabs, and gives back those that nobody has a buffer of
// when it is told to; their numbers are given again. What is taken is a move-only value that gives the buffer back when
// it is destroyed.
//
// Owner: a poll group; the buffers must be back when it is destroyed. Thread: its loop's.

#ifndef VERBENA_TRANSPORT_REGISTERED_POOL_H_
#define VERBENA_TRANSPORT_REGISTERED_POOL_H_

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "transport/mapped_memory.h"
#include "transport/verbs/memory_region.h"
#include "transport/verbs/protection_domain.h"

namespace verbena::transport {

class RegisteredPool {
 public:
  // A buffer taken from the pool.
  class Buffer {
   public:
    Buffer() = default;
    Buffer(Buffer&& other) noexcept : pool_(std::exchange(other.pool_, nullptr)), index_(other.index_) {}
    Buffer& operator=(Buffer&& other) noexcept {
      std::swap(pool_, other.pool_);
      std::swap(index_, other.index_);
      return *this;
    }
    ~Buffer() {
      if (pool_ != nullptr) pool_->free_.push_back(index_);
    }

    uint32_t index() const { return index_; }
    std::byte* data() const { return pool_->places_[index_].data; }
    uint32_t lkey() const { return pool_->places_[index_].lkey; }

   private:
    friend class RegisteredPool;
    Buffer(RegisteredPool* pool, uint32_t index) : pool_(pool), index_(index) {}

    RegisteredPool* pool_ = nullptr;
    uint32_t index_ = 0;
  };

  // An empty pool. `access`: IBV_ACCESS_LOCAL_WRITE for receives, 0 for sends. `domain` must outlive it.
  RegisteredPool(const verbs::ProtectionDomain& domain, size_t buffer_bytes, int access)
      : domain_(domain), buffer_bytes_(buffer_bytes), access_(access) {}
  ~RegisteredPool();
  RegisteredPool(const RegisteredPool&) = delete;
  RegisteredPool& operator=(const RegisteredPool&) = delete;

  // Adds `count` buffers, at least one, as a slab of their own. Fails, in words, when the memory cannot be had or
  // pinned.
  absl::Status Grow(uint32_t count);
  // Deregisters and unmaps slabs all of whose buffers are free, those with the highest numbers first, as long as the
  // pool keeps at least `stay` buffers; at most `bytes_max` bytes of them, for it takes time. True if more could go. Of
  // those that are left the lowest are taken first.
  bool GiveBackFree(uint32_t stay, size_t bytes_max = kGivenBackMax);
  static constexpr size_t kGivenBackMax = size_t{32} << 20;

  // One that is free; there is one.
  Buffer Take() {
    assert(!free_.empty());
    const uint32_t index = free_.back();
    free_.pop_back();
    return Buffer(this, index);
  }

  size_t buffer_bytes() const { return buffer_bytes_; }
  uint32_t size() const { return size_; }
  uint32_t free() const { return static_cast<uint32_t>(free_.size()); }

 private:
  struct Slab {
    uint32_t count;  // Of buffers.
    MappedMemory memory;
    verbs::MemoryRegion region;  // Behind the memory: it goes first.
  };

  struct Place {
    std::byte* data;
    uint32_t lkey;
  };

  // The lowest number from which on `count` are nobody's.
  uint32_t FirstOfNew(uint32_t count) const;

  // Constant after construction.
  const verbs::ProtectionDomain& domain_;
  const size_t buffer_bytes_;
  const int access_;

  // Owned by the loop.
  std::vector<uint32_t> free_;  // A stack: the warmest buffer is taken first.
  std::vector<Place> places_;   // By number; also those of slabs that are gone.
  uint32_t size_ = 0;
  std::map<uint32_t, Slab> slabs_;  // By the number of its first buffer.
};

}  // namespace verbena::transport

#endif  // VERBENA_TRANSPORT_REGISTERED_POOL_H_
