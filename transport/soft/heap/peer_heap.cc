#include "transport/soft/heap/peer_heap.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <utility>

#include "transport/soft/heap/shared_heap.h"
#include "transport/soft/unique_fd.h"

namespace verbena::soft {

const std::byte* PeerHeap::Find(const PublishedHeap& published, MemoryRange range) {
  if (published.descriptor.load(std::memory_order_acquire) == 0) return nullptr;
  const uint64_t address = published.address.load(std::memory_order_relaxed);
  const uint64_t used = published.used.load();
  if (used > kHeapBytes || !Contains({.address = address, .length = used}, range)) return nullptr;
  if (!std::exchange(tried_, true)) mapping_ = Map(published);
  return mapping_ != nullptr && mapping_->OpenHeap(used) ? mapping_->heap() + (range.address - address) : nullptr;
}

// The descriptor is the peer's own word, and its process id may be another's by now: the file must be the one that it
// published.
std::shared_ptr<SharedMapping> PeerHeap::Map(const PublishedHeap& published) const {
  if (!SystemBearsHeaps()) return nullptr;
  const UniqueFd process(static_cast<int>(syscall(SYS_pidfd_open, process_, 0)));
  if (!process.valid()) return nullptr;
  const auto descriptor = static_cast<int>(published.descriptor.load(std::memory_order_relaxed) - 1);
  const UniqueFd file(static_cast<int>(syscall(SYS_pidfd_getfd, process.get(), descriptor, 0)));
  struct stat status = {};
  // Only files in memory have seals: of another kind nothing is asked that its file system might not answer.
  if (!file.valid() || fcntl(file.get(), F_GET_SEALS) < 0 || fstat(file.get(), &status) != 0) return nullptr;
  if (status.st_ino != published.file.load(std::memory_order_relaxed)) return nullptr;
  absl::StatusOr<std::shared_ptr<SharedMapping>> mapping = SharedMapping::Attach(SharedMapping::Kind::kHeap, file);
  return mapping.ok() ? *std::move(mapping) : nullptr;
}

}  // namespace verbena::soft
