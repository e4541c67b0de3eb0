#include "transport/soft/heap/shared_heap.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <iterator>
#include <utility>

#include "transport/soft/forked_child.h"
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
  if (mprotect(base_ + offset, bytes, PROT_READ | PROT_WRITE) == 0) return base_ + offset;
  ReturnRange(offset, bytes);  // The process has too many mappings.
  return nullptr;
}

bool SharedHeap::Unmap(std::byte* address, size_t bytes) {
  std::lock_guard lock(mu_);
  if (!Holds(address, bytes)) return false;
  madvise(address, bytes, MADV_REMOVE);
  mprotect(address, bytes, PROT_NONE);
  if (!IsForkedChild()) ReturnRange(static_cast<size_t>(address - base_), bytes);
  return true;
}

void SharedHeap::Publish(PublishedHeap* published) {
  std::lock_guard lock(mu_);
  published_ = published;
  PublishIfThere();
}

// Unlocked: what mlockall() has the kernel lock is filled.
bool SharedHeap::Create() {
  rlimit file_bytes = {};
  if (getrlimit(RLIMIT_FSIZE, &file_bytes) != 0 || file_bytes.rlim_cur < kHeapBytes) return false;  // Else a SIGXFSZ.
  absl::StatusOr<UniqueFd> fd = SharedMapping::CreateFile(SharedMapping::Kind::kHeap);
  if (!fd.ok() || !SharedMapping::Seal(SharedMapping::Kind::kHeap, *fd).ok()) return false;
  void* const base = mmap(nullptr, kHeapBytes, PROT_NONE, MAP_SHARED, fd->get(), 0);
  if (base == MAP_FAILED) return false;
  munlock(base, kHeapBytes);
  fd_ = *std::move(fd);
  base_ = static_cast<std::byte*>(base);
  free_.emplace(0, kHeapBytes);
  PublishIfThere();
  return true;
}

void SharedHeap::PublishIfThere() {
  struct stat status = {};
  if (base_ == nullptr || published_ == nullptr || fstat(fd_.get(), &status) != 0) return;
  published_->address.store(reinterpret_cast<uint64_t>(base_), std::memory_order_relaxed);
  published_->file.store(status.st_ino, std::memory_order_relaxed);
  published_->descriptor.store(static_cast<uint32_t>(fd_.get()) + 1, std::memory_order_release);
}

void SharedHeap::BecomePrivate() {
  if (base_ == nullptr) return;
  constexpr int kFlags = MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE;
  mmap(base_, kHeapBytes, PROT_READ | PROT_WRITE, kFlags, fd_.get(), 0);
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
