#include "transport/payload_magazine.h"

#include <algorithm>
#include <iterator>
#include <memory>

#include "absl/types/span.h"
#include "transport/event_loop.h"
#include "transport/payload_arena.h"
#include "transport/protocol/limits.h"

namespace verbena::transport {

// What one connection has on offer at a time may all be at hand.
static_assert(PayloadMagazine::kBlocksMax == protocol::kTransfersMax);

PayloadMagazine* PayloadMagazine::OfThisThread() {
  static const char key = 0;
  EventLoop* const loop = EventLoop::OfThisThread();
  if (loop == nullptr) return nullptr;
  std::shared_ptr<void>& magazine = loop->Local(&key);
  if (magazine == nullptr) magazine = std::make_shared<PayloadMagazine>();
  return static_cast<PayloadMagazine*>(magazine.get());
}

PayloadBlock* PayloadMagazine::Take(size_t capacity) {
  const auto found = std::find_if(blocks_.rbegin(), blocks_.rend(),
                                  [capacity](const PayloadBlock* block) { return block->capacity() == capacity; });
  if (found == blocks_.rend()) return nullptr;
  PayloadBlock* const block = *found;
  if (block->numa_node() != NumaNodeOfThisThread()) {  // The loop has moved.
    GiveBack();
    return nullptr;
  }
  blocks_.erase(std::next(found).base());
  return block;
}

bool PayloadMagazine::Put(PayloadBlock* block) {
  if (block->capacity() > kBlockBytesMax || block->numa_node() != NumaNodeOfThisThread()) return false;
  if (blocks_.size() == kBlocksMax) {
    constexpr size_t kHalf = kBlocksMax / 2;
    PayloadArena::Get().Keep(absl::MakeConstSpan(blocks_).first(kHalf));
    blocks_.erase(blocks_.begin(), blocks_.begin() + kHalf);
  }
  blocks_.push_back(block);
  return true;
}

bool PayloadMagazine::GiveBack() {
  if (blocks_.empty()) return false;
  PayloadArena::Get().Keep(blocks_);
  blocks_.clear();
  return true;
}

}  // namespace verbena::transport
