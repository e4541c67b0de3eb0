// Memory of small objects that come and go with each call, such as coroutines' frames: a thread keeps what is freed on
// it for what it makes next. malloc keeps seven of a size; a loop has one for each call in flight.
//
// Owner: as with operator new. Thread: any; freed on another thread than it was made on, it is that one's from then on.
// Under gcc's ASan and TSan nothing is kept, so that they see each object's end.

#ifndef VERBENA_BASE_BLOCK_CACHE_H_
#define VERBENA_BASE_BLOCK_CACHE_H_

#include <array>
#include <cstddef>
#include <memory>
#include <new>
#include <utility>

namespace verbena {

class BlockCache {
 public:
  static constexpr size_t kKeptBytesMax = size_t{256} << 10;  // Of a thread. As much as a thousand frames.
  static constexpr size_t kBlockBytesMax = 1024;              // What is larger comes and goes as always.

  // Aligned as with operator new. Throws std::bad_alloc.
  static void* Allocate(size_t bytes) {
    const size_t kind = KindOf(bytes);
    if (kind >= kKinds) return ::operator new(bytes);
    FreeBlock* const block = kept_.free[kind];
    if (block == nullptr) return ::operator new(BytesOf(kind));
    kept_.free[kind] = block->next;
    kept_.room += BytesOf(kind);
    return block;
  }
  // What was allocated with as many `bytes`.
  static void Free(void* memory, size_t bytes) noexcept {
    const size_t kind = KindOf(bytes);
    if (kind >= kKinds) return ::operator delete(memory);
    if (kept_.room < BytesOf(kind) && !Begin()) return ::operator delete(memory);
    kept_.room -= BytesOf(kind);
    kept_.free[kind] = ::new (memory) FreeBlock{kept_.free[kind]};
  }

  // Lets go of what this thread keeps.
  static void Clear() noexcept;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  static constexpr bool kKeeps = false;
#else
  static constexpr bool kKeeps = true;
#endif

 private:
  static constexpr size_t kGrain = 64;
  static constexpr size_t kKinds = kBlockBytesMax / kGrain;

  struct FreeBlock {
    FreeBlock* next;
  };
  struct Kept {
    std::array<FreeBlock*, kKinds> free;  // By size; what was freed last is first.
    size_t room;                          // For more. None before Begin, and when the thread ends.
    bool begun;
  };
  struct AtThreadsEnd {
    ~AtThreadsEnd();
  };

  static size_t KindOf(size_t bytes) { return bytes == 0 ? 0 : (bytes - 1) / kGrain; }
  static size_t BytesOf(size_t kind) { return (kind + 1) * kGrain; }
  static bool Begin() noexcept;  // True: there is room now.

  // Plain data, which is there until the thread has gone.
  static constinit inline thread_local Kept kept_ = {};
};

// A class derived from this has its memory from there.
struct Cached {
  static void* operator new(size_t bytes) { return BlockCache::Allocate(bytes); }
  static void* operator new(size_t bytes, std::align_val_t alignment) = delete;
  static void operator delete(void* memory, size_t bytes) noexcept { BlockCache::Free(memory, bytes); }
};

// For what std::allocate_shared makes.
template <typename T>
struct CachedAllocator {
  using value_type = T;
  static_assert(alignof(T) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);

  CachedAllocator() = default;
  template <typename Other>
  CachedAllocator(const CachedAllocator<Other>&) {}  // NOLINT(google-explicit-constructor): an allocator's rule.

  T* allocate(size_t count) { return static_cast<T*>(BlockCache::Allocate(count * sizeof(T))); }
  void deallocate(T* memory, size_t count) noexcept { BlockCache::Free(memory, count * sizeof(T)); }
  friend bool operator==(const CachedAllocator&, const CachedAllocator&) { return true; }
};

// std::make_shared, of such memory.
template <typename T, typename... Args>
std::shared_ptr<T> MakeSharedCached(Args&&... args) {
  return std::allocate_shared<T>(CachedAllocator<T>(), std::forward<Args>(args)...);
}

}  // namespace verbena

#endif  // VERBENA_BASE_BLOCK_CACHE_H_
