#include "transport/soft/shared_mapping.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <map>
#include <mutex>

#include "transport/soft/errno_status.h"

namespace verbena::soft {
namespace {

using Kind = SharedMapping::Kind;

constexpr int kSizeSeals = F_SEAL_SHRINK | F_SEAL_GROW;

// Addresses that are left out between a heap and the one that the kernel puts beside it. AMD's Zen finds a line in its
// first-level data cache by a hash of bits 12 to 27 of the address: of two lines that have it, and their place in the
// page, in common one drives out the other (Lipp et al., "Take A Way", 2020). Heaps that are a multiple of 256 MiB
// apart have that in all pages, and a copy from one to the other takes twice as long. Two bits, above those by which
// the ranges within two heaps usually differ; a multiple of a huge page.
constexpr size_t kHeapsApartBytes = size_t{34} << 20;

size_t FileBytes(Kind kind) {
  switch (kind) {
    case Kind::kPair:
      return sizeof(PairMemory);
    case Kind::kReady:
      return kPageBytes;
    case Kind::kQueues:
      return sizeof(QueuesMemory);
    case Kind::kRegions:
      return sizeof(PublishedMemory);
    case Kind::kHeap:
      return kHeapBytes;
  }
  return 0;
}

bool OnlyOwnerWrites(Kind kind) { return kind == Kind::kQueues || kind == Kind::kRegions || kind == Kind::kHeap; }

const char* FileName(Kind kind) {
  switch (kind) {
    case Kind::kPair:
      return "verbena-soft-pair";
    case Kind::kReady:
      return "verbena-soft-ready";
    case Kind::kQueues:
      return "verbena-soft-queues";
    case Kind::kRegions:
      return "verbena-soft-regions";
    case Kind::kHeap:
      return "verbena-soft-heap";
  }
  return "";
}

absl::Status CheckPeerFile(Kind kind, int fd) {
  // First of all: only files in memory have seals, and another's file system might not answer.
  int seals = fcntl(fd, F_GET_SEALS);
  if (seals == -1 || (seals & kSizeSeals) != kSizeSeals) {
    return absl::InvalidArgumentError("a peer's memory file is not a memfd with a sealed size");
  }
  struct stat status = {};
  struct statfs file_system = {};
  if (fstat(fd, &status) != 0) return absl::ErrnoToStatus(errno, "fstat of a peer's memory file");
  if (fstatfs(fd, &file_system) != 0) return absl::ErrnoToStatus(errno, "fstatfs of a peer's memory file");
  if (file_system.f_type != TMPFS_MAGIC) return absl::InvalidArgumentError("a peer's memory file is not a memfd");
  if (static_cast<size_t>(status.st_size) != FileBytes(kind)) {
    return absl::InvalidArgumentError("a peer's memory file has the wrong size");
  }
  return absl::OkStatus();
}

// Mappings of this process by file. Never destroyed: mappings may outlive static destruction.
struct Registry {
  std::mutex mu;
  int heaps = 0;  // Mapped.
  std::map<std::pair<dev_t, ino_t>, std::weak_ptr<SharedMapping>> by_file;
};

Registry& TheRegistry() {
  static auto* registry = new Registry;
  return *registry;
}

}  // namespace

absl::StatusOr<std::shared_ptr<SharedMapping>> SharedMapping::Create(Kind kind) {
  absl::StatusOr<UniqueFd> fd = CreateFile(kind);
  if (!fd.ok()) return fd.status();
  UniqueFd keep(fcntl(fd->get(), F_DUPFD_CLOEXEC, 0));
  if (!keep.valid()) return StatusOfErrno(errno, "fcntl(F_DUPFD_CLOEXEC)");
  absl::StatusOr<std::shared_ptr<SharedMapping>> mapping = Map(kind, *fd, true, std::move(keep));
  if (!mapping.ok()) return mapping;
  if (absl::Status status = Seal(kind, *fd); !status.ok()) return status;
  return mapping;
}

absl::StatusOr<UniqueFd> SharedMapping::CreateFile(Kind kind) {
  UniqueFd fd(memfd_create(FileName(kind), MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd.valid()) return StatusOfErrno(errno, "memfd_create");
  if (ftruncate(fd.get(), static_cast<off_t>(FileBytes(kind))) != 0) return absl::ErrnoToStatus(errno, "ftruncate");
  return fd;
}

absl::Status SharedMapping::Seal(Kind kind, const UniqueFd& fd) {
  // A heap's pages are given back by punching holes, which nobody may where nobody may write.
  bool nobody_writes = OnlyOwnerWrites(kind) && kind != Kind::kHeap;
  int seals = kSizeSeals | F_SEAL_SEAL | (nobody_writes ? F_SEAL_FUTURE_WRITE : 0);
  if (fcntl(fd.get(), F_ADD_SEALS, seals) == 0) return absl::OkStatus();
  return absl::ErrnoToStatus(errno, "fcntl(F_ADD_SEALS)");
}

absl::StatusOr<std::shared_ptr<SharedMapping>> SharedMapping::Attach(Kind kind, const UniqueFd& fd) {
  if (absl::Status status = CheckPeerFile(kind, fd.get()); !status.ok()) return status;
  return Map(kind, fd, !OnlyOwnerWrites(kind), UniqueFd());
}

absl::StatusOr<std::shared_ptr<SharedMapping>> SharedMapping::Map(Kind kind, const UniqueFd& fd, bool writable,
                                                                  UniqueFd keep) {
  struct stat status = {};
  if (fstat(fd.get(), &status) != 0) return absl::ErrnoToStatus(errno, "fstat of a memory file");
  FileId id(status.st_dev, status.st_ino);
  Registry& registry = TheRegistry();
  std::shared_ptr<SharedMapping> present;  // Outlives the lock, which its destructor takes should it be the last one.
  std::lock_guard lock(registry.mu);
  if (const auto known = registry.by_file.find(id); known != registry.by_file.end()) present = known->second.lock();
  if (present != nullptr) {
    // Else a peer could hand back our own published memory and have us write it as something else.
    if (present->kind_ != kind) return absl::InvalidArgumentError("a peer's memory file is of another kind");
    return present;
  }
  if (kind == Kind::kHeap && registry.heaps == kPeerHeapsMax) return absl::ResourceExhaustedError("peers' heaps");
  int protection = writable ? PROT_READ | PROT_WRITE : PROT_READ;
  void* base =
      kind == Kind::kHeap ? ReserveHeap(fd.get()) : mmap(nullptr, FileBytes(kind), protection, MAP_SHARED, fd.get(), 0);
  if (base == nullptr || base == MAP_FAILED) return StatusOfErrno(errno, "mmap of a memory file");
  std::shared_ptr<SharedMapping> mapping(new SharedMapping(kind, id, base, std::move(keep)));
  registry.by_file[id] = mapping;
  registry.heaps += kind == Kind::kHeap ? 1 : 0;
  return mapping;
}

// With addresses on both sides: the kernel may put one mapping below the other or above it (vm.legacy_va_layout).
void* SharedMapping::ReserveHeap(int fd) {
  constexpr size_t kBytes = kHeapsApartBytes + kHeapBytes + kHeapsApartBytes;
  void* const taken = mmap(nullptr, kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (taken == MAP_FAILED) return nullptr;
  munlock(taken, kBytes);  // Else the heap in its place would count as locked beside it.
  auto* const before = static_cast<std::byte*>(taken);
  std::byte* const heap = before + kHeapsApartBytes;
  if (!ReserveHeapAt(heap, fd, 0, kHeapBytes)) {
    munmap(taken, kBytes);
    return nullptr;
  }
  munmap(before, kHeapsApartBytes);
  munmap(heap + kHeapBytes, kHeapsApartBytes);
  return heap;
}

bool SharedMapping::ReserveHeapAt(void* at, int fd, size_t offset, size_t bytes) {
  if (mmap(at, bytes, PROT_NONE, MAP_SHARED | MAP_FIXED, fd, static_cast<off_t>(offset)) == MAP_FAILED) return false;
  return munlock(at, bytes) == 0 && madvise(at, bytes, MADV_DONTDUMP) == 0;
}

bool SharedMapping::OpenHeap(size_t bytes) {
  if (bytes <= open_.load(std::memory_order_acquire)) return true;
  std::lock_guard lock(TheRegistry().mu);
  if (bytes <= open_.load(std::memory_order_relaxed)) return true;
  if (mprotect(base_, bytes, PROT_READ) != 0) return false;
  open_.store(bytes, std::memory_order_release);
  return true;
}

// Without waiting: whoever held the lock is not in this process.
void SharedMapping::SeverAll() {
  Registry& registry = TheRegistry();
  std::unique_lock lock(registry.mu, std::try_to_lock);
  if (!lock.owns_lock()) return;
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE;
  for (const auto& [id, known] : registry.by_file) {
    std::shared_ptr<SharedMapping> mapping = known.lock();
    if (mapping == nullptr) continue;
    const int protection = mapping->kind_ == Kind::kHeap ? PROT_NONE : PROT_READ | PROT_WRITE;
    mmap(mapping->base_, FileBytes(mapping->kind_), protection, kFlags, -1, 0);
  }
}

SharedMapping::~SharedMapping() {
  Registry& registry = TheRegistry();
  {
    std::lock_guard lock(registry.mu);
    auto entry = registry.by_file.find(id_);
    if (entry != registry.by_file.end() && entry->second.expired()) registry.by_file.erase(entry);
    registry.heaps -= kind_ == Kind::kHeap ? 1 : 0;
  }
  munmap(base_, FileBytes(kind_));
}

UniqueFd SharedMapping::DuplicateFd() const {
  return UniqueFd(fd_.valid() ? fcntl(fd_.get(), F_DUPFD_CLOEXEC, 0) : -1);
}

}  // namespace verbena::soft
