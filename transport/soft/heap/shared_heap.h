// Memory of this process that its peers may map, so that a READ of it is a memcpy: one sealed memfd, one stretch of
// addresses, of which ranges are given out and taken back.
//
// The file's descriptor is published (shared_layout.h). A peer duplicates it with pidfd_getfd, which the kernel allows
// to those that it allows process_vm_readv, and maps it read-only (peer_heap.h). So who may not copy from this process'
// memory by itself may not map this either. What a key allows is checked before each copy all the same.
//
// Pages cost nothing before they are written, and what is given back has none. The rest of the addresses is reserved
// without access: mlockall() does not fill it, nor is it dumped. Pages are ordinary, or transparent huge ones where the
// kernel makes them for shared memory (shmem_enabled) and the user of a range asks for them.
//
// A child made by fork() sees what is there, and what it writes is its own; but what the parent writes later, or gives
// back, may show. It is given nothing.
//
// Owner: the process. Thread: any.

#ifndef VERBENA_TRANSPORT_SOFT_HEAP_SHARED_HEAP_H_
#define VERBENA_TRANSPORT_SOFT_HEAP_SHARED_HEAP_H_

#include <cstddef>
#include <map>
#include <mutex>

#include "absl/base/thread_annotations.h"
#include "transport/soft/shared_layout.h"
#include "transport/soft/unique_fd.h"

namespace verbena::soft {

// Whether the system bears with 64 GiB of addresses that stand for nothing: neither does it limit them, nor does it
// want memory for all of them.
bool SystemBearsHeaps();

class SharedHeap {
 public:
  // The one that is published. Never destroyed: memory of it may outlive everything else.
  static SharedHeap& OfProcess();

  // Others are for tests.
  SharedHeap() = default;
  ~SharedHeap();
  SharedHeap(const SharedHeap&) = delete;
  SharedHeap& operator=(const SharedHeap&) = delete;

  // Zeros, readable and writable; `bytes` is a multiple of the page. Null, and ordinary memory will do: no room; a
  // child made by fork(); the system refuses, or says that it limits addresses (RLIMIT_AS) or promises no more memory
  // than there is (vm.overcommit_memory=2), of which such a file knows nothing until a page is missing.
  std::byte* Map(size_t bytes);

  // Takes back whole pages of what Map gave out, all or a part. False: they are none of it.
  bool Unmap(std::byte* address, size_t bytes);

  // Says there, from now on, where the heap is. Once; `published` outlives the process' peers.
  void Publish(PublishedHeap* published);

 private:
  bool Create() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // What there is to be said, if there is a heap and somebody to tell.
  void PublishIfThere() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // In a child, whose parent's peers must see nothing of what it does.
  void BecomePrivate() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Takes the pages of a range, and all access to it. False: not all of that.
  bool Empty(size_t offset, size_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool Holds(const std::byte* address, size_t bytes) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // The offset of the first free range that is long enough; kHeapBytes: there is none.
  size_t TakeRange(size_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void ReturnRange(size_t offset, size_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  std::mutex mu_;
  UniqueFd fd_ ABSL_GUARDED_BY(mu_);
  std::byte* base_ ABSL_GUARDED_BY(mu_) = nullptr;
  bool private_ ABSL_GUARDED_BY(mu_) = false;           // This is a child.
  bool refused_ ABSL_GUARDED_BY(mu_) = false;           // By the system: not asked again.
  std::map<size_t, size_t> free_ ABSL_GUARDED_BY(mu_);  // Bytes by offset; no two touch.
  size_t used_ ABSL_GUARDED_BY(mu_) = 0;                // Nothing was ever given out from there on.
  PublishedHeap* published_ ABSL_GUARDED_BY(mu_) = nullptr;
};

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_HEAP_SHARED_HEAP_H_
