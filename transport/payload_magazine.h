// Free blocks of payload memory that one event loop has at hand: it takes and gives back most of its blocks without the
// lock of the process's arena, which all loops share. (After the magazines of Bonwick and Adams, USENIX ATC 2001.)
//
// Whoever lets go of a block within the loop puts it here, and the next one of its capacity is that one, warm. Large
// blocks do not come here: to copy what they hold takes a hundred times as long as a lock. What is here is counted as
// in use; so it is little, and an arena that has come to its limit gets that of the loop that asks.
//
// Owner: an event loop, as one of its locals. Thread: its loop's.

#ifndef VERBENA_TRANSPORT_PAYLOAD_MAGAZINE_H_
#define VERBENA_TRANSPORT_PAYLOAD_MAGAZINE_H_

#include <cstddef>
#include <vector>

namespace verbena::transport {

class PayloadBlock;

class PayloadMagazine {
 public:
  static constexpr size_t kBlockBytesMax = 128 * 1024;
  static constexpr size_t kBlocksMax = 32;  // As many as a connection has on offer at a time: protocol::kTransfersMax.

  PayloadMagazine() = default;
  ~PayloadMagazine() { GiveBack(); }
  PayloadMagazine(const PayloadMagazine&) = delete;
  PayloadMagazine& operator=(const PayloadMagazine&) = delete;

  // That of the loop that the calling thread runs, the innermost's. Null: it runs none. Any thread.
  static PayloadMagazine* OfThisThread();

  // The block of this capacity that was put here last. Null: there is none, or it is another memory node's: then all
  // that is here goes to the arena, since the loop has moved.
  PayloadBlock* Take(size_t capacity);
  // Nobody holds it. False: it is large, or another memory node's (numa_node.h). If there are too many, the older half
  // goes to the arena.
  bool Put(PayloadBlock* block);
  // All go to the arena. False: there were none.
  bool GiveBack();

 private:
  std::vector<PayloadBlock*> blocks_;  // Back = most recently used.
};

}  // namespace verbena::transport

#endif  // VERBENA_TRANSPORT_PAYLOAD_MAGAZINE_H_
