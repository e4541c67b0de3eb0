#include "transport/soft/heap/shared_heap.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <utility>

#include "transport/soft/control_io/forked_child.h"
#include "transport/soft/shared_mapping.h"

namespace verbena::soft {

SharedHeap& SharedHeap::OfProcess() {
  static SharedHeap* const heap = [] {
    auto* const made = new SharedHeap;
    RecognizeForkedChildren();
    pthread_atfork([]() ABSL_NO_THREAD_SAFETY_ANALYSIS { OfProcess().mu_.lock(); },
                   []() ABSL_NO_THREAD_SAFETY_ANALYSIS { OfProcess().mu_.unlock(); },
                   []() ABSL_NO_THREAD_SAFETY_ANALYSIS {
                     OfProcess().BecomePrivate();
                     OfProcess().mu_.unlock();
                   });
    return made;
  }();
  return *heap;
}

SharedHeap::~SharedHeap() {
  if (base_ != nullptr) munmap(base_, kHeapBytes);
}

std::byte* SharedHeap::Map(size_t bytes) {
  if (IsForkedChild()) return nullptr;
  std::lock_guard lock(mu_);
  refused_ = refused_ || (base_ == nullptr && !Create());
  if (refused_ || bytes == 0) return nullptr;
  const size_t offset = TakeRange(bytes);
  if (offset == kHeapBytes) return nullptr;
  constexpr int kFlags = MAP_SHARED | MAP_FIXED;
  const auto at = static_cast<off_t>(offset);
  if (mmap(base_ + offset, bytes, PROT_READ | PROT_WRITE, kFlags, fd_.get(), at) == MAP_FAILED) {
    ReturnRange(offset, bytes);  // The process has too many mappings, or may lock no more.
    return nullptr;
  }
  used_ = std::max(used_, offset + bytes);
  PublishIfThere();
  return base_ + offset;
}

// What cannot be emptied is not given out again.
bool SharedHeap::Unmap(std::byte* address, size_t bytes) {
  std::lock_guard lock(mu_);
  if (!Holds(address, bytes)) return false;
  const auto offset = static_cast<size_t>(address - base_);
  if (!private_ && Empty(offset, bytes)) ReturnRange(offset, bytes);
  return true;
}

void SharedHeap::Publish(PublishedHeap* published) {
  std::lock_guard lock(mu_);
  published_ = published;
  PublishIfThere();
}

bool SystemBearsHeaps() {
  rlimit addresses = {};
  if (getrlimit(RLIMIT_AS, &addresses) != 0 || addresses.rlim_cur != RLIM_INFINITY) return false;
  constexpr int kNeverOvercommit = 2;
  int policy = 0;
  std::ifstream("/proc/sys/vm/overcommit_memory") >> policy;
  return policy != kNeverOvercommit;
}

bool SharedHeap::Create() {
  rlimit file_bytes = {};
  if (getrlimit(RLIMIT_FSIZE, &file_bytes) != 0 || file_bytes.rlim_cur < kHeapBytes) return false;  // Else a SIGXFSZ.
  if (!SystemBearsHeaps()) return false;
  absl::StatusOr<UniqueFd> fd = SharedMapping::CreateFile(SharedMapping::Kind::kHeap);
  if (!fd.ok() || !SharedMapping::Seal(SharedMapping::Kind::kHeap, *fd).ok()) return false;
  void* const base = SharedMapping::ReserveHeap(fd->get());
  if (base == nullptr) return false;
  fd_ = *std::move(fd);
  base_ = static_cast<std::byte*>(base);
  free_.emplace(0, kHeapBytes);
  return true;
}

bool SharedHeap::Empty(size_t offset, size_t bytes) {
  constexpr int kMode = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
  const bool reserved = SharedMapping::ReserveHeapAt(base_ + offset, fd_.get(), offset, bytes);
  return fallocate(fd_.get(), kMode, static_cast<off_t>(offset), static_cast<off_t>(bytes)) == 0 && reserved;
}

void SharedHeap::PublishIfThere() {
  struct stat status = {};
  if (base_ == nullptr || published_ == nullptr) return;
  published_->used.store(used_);
  if (published_->descriptor.load(std::memory_order_relaxed) != 0 || fstat(fd_.get(), &status) != 0) return;
  published_->address.store(reinterpret_cast<uint64_t>(base_), std::memory_order_relaxed);
  published_->file.store(status.st_ino, std::memory_order_relaxed);
  published_->descriptor.store(static_cast<uint32_t>(fd_.get()) + 1, std::memory_order_release);
}

// Once: a child's child sees what the child wrote. Without the memory, rather than with the parent's.
void SharedHeap::BecomePrivate() {
  if (base_ == nullptr || std::exchange(private_, true)) return;
  constexpr int kFlags = MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE;
  void* const own = mmap(base_, kHeapBytes, PROT_READ | PROT_WRITE, kFlags, fd_.get(), 0);
  if (own == MAP_FAILED) munmap(base_, kHeapBytes);
  madvise(base_, kHeapBytes, MADV_DONTDUMP);
}

bool SharedHeap::Holds(const std::byte* address, size_t bytes) const {
  return base_ != nullptr && address >= base_ && address < base_ + kHeapBytes &&
         bytes <= static_cast<size_t>(base_ + kHeapBytes - address);
}

size_t SharedHeap::TakeRange(size_t bytes) {
  for (auto range = free_.begin(); range != free_.end(); ++range) {
    const auto [offset, length] = *range;
    if (length < bytes) continue;
    free_.erase(range);
    if (length > bytes) free_.emplace(offset + bytes, length - bytes);
    return offset;
  }
  return kHeapBytes;
}

void SharedHeap::ReturnRange(size_t offset, size_t bytes) {
  auto next = free_.lower_bound(offset);
  if (next != free_.end() && next->first == offset + bytes) {
    bytes += next->second;
    next = free_.erase(next);
  }
  if (next != free_.begin()) {
    auto before = std::prev(next);
    if (before->first + before->second == offset) {
      before->second += bytes;
      return;
    }
  }
  free_.emplace(offset, bytes);
}

}  // namespace verbena::soft
