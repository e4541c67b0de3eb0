// A peer's heap (shared_heap.h), mapped to READ from it without the peer and without the kernel.
//
// Owner: a DirectMemory, whose peer may be copied from. One mapping for all links to that process. Thread: the queue
// pair's lock.

#ifndef VERBENA_TRANSPORT_SOFT_HEAP_PEER_HEAP_H_
#define VERBENA_TRANSPORT_SOFT_HEAP_PEER_HEAP_H_

#include <sys/types.h>

#include <cstddef>
#include <memory>

#include "transport/soft/key_table.h"
#include "transport/soft/shared_mapping.h"

namespace verbena::soft {

class PeerHeap {
 public:
  explicit PeerHeap(pid_t process) : process_(process) {}

  // Where those bytes of the peer's are in this process; null if they are not all in what its heap has given out, or
  // this could not be mapped, which is tried once. They can be touched whatever the peer does, but are what it says
  // only while it leaves them registered. `published` is the peer's.
  const std::byte* Find(const PublishedHeap& published, MemoryRange range);

  // The peer is gone: its memory is not to be kept from the system.
  void Drop() { mapping_ = nullptr; }

 private:
  std::shared_ptr<SharedMapping> Map(const PublishedHeap& published) const;

  const pid_t process_;
  bool tried_ = false;
  std::shared_ptr<SharedMapping> mapping_;
};

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_HEAP_PEER_HEAP_H_
