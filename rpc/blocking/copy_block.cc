#include "rpc/blocking/copy_block.h"

#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"

namespace verbena::rpc {
namespace {

struct FreeBlocks {
  FreeBlocks() { blocks.reserve(kFreeCopyBlocksMax); }  // Who gives one back needs no memory for it.

  std::mutex mu;
  std::vector<std::byte*> blocks ABSL_GUARDED_BY(mu);  // What was used last is taken first: it is in a cache.
};

// Of the process, for as long as any thread may have a stream.
FreeBlocks& Free() {
  static FreeBlocks& free = *new FreeBlocks;
  return free;
}

}  // namespace

void GiveBackCopyBlock::operator()(std::byte* memory) const {
  {
    FreeBlocks& free = Free();
    const std::lock_guard lock(free.mu);
    if (free.blocks.size() < kFreeCopyBlocksMax) return free.blocks.push_back(memory);
  }
  ::operator delete(memory);
}

CopyBlock TakeCopyBlock() {
  {
    FreeBlocks& free = Free();
    const std::lock_guard lock(free.mu);
    if (!free.blocks.empty()) {
      CopyBlock block(free.blocks.back());
      free.blocks.pop_back();
      return block;
    }
  }
  return CopyBlock(static_cast<std::byte*>(::operator new(kCopyBlockBytes)));
}

}  // namespace verbena::rpc
