#include "base/block_cache.h"

#include <new>
#include <utility>

namespace verbena {

bool BlockCache::Begin() noexcept {
  if (!kKeeps || std::exchange(kept_.begun, true)) return false;
  static thread_local AtThreadsEnd at_threads_end;
  (void)at_threads_end;
  kept_.room = kKeptBytesMax;
  return true;
}

void BlockCache::Clear() noexcept {
  for (size_t kind = 0; kind < kKinds; ++kind) {
    FreeBlock*& first = kept_.free[kind];
    for (; first != nullptr; kept_.room += BytesOf(kind)) ::operator delete(std::exchange(first, first->next));
  }
}

BlockCache::AtThreadsEnd::~AtThreadsEnd() {
  Clear();
  kept_.room = 0;
}

}  // namespace verbena
