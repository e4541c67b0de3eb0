// One mapping of one memory file that processes share. See shared_layout.h for the kinds.
//
// A process maps one file once: attaching a file that is already mapped, or that this process made, yields the same
// mapping. So two queue pairs of one process share addresses, which a race detector needs to see who waits for whom.
//
// Owner: shared by everyone who uses the memory. Thread: any.

#ifndef VERBENA_TRANSPORT_SOFT_SHARED_MAPPING_H_
#define VERBENA_TRANSPORT_SOFT_SHARED_MAPPING_H_

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "transport/soft/shared_layout.h"
#include "transport/soft/unique_fd.h"

namespace verbena::soft {

class SharedMapping {
 public:
  enum class Kind { kPair, kReady, kQueues, kRegions, kHeap };

  // A fresh file of zeros. Its size is sealed; one of queues or regions cannot be mapped for writing by anybody else.
  static absl::StatusOr<std::shared_ptr<SharedMapping>> Create(Kind kind);
  // Its two halves, for an owner who maps the file by himself between them.
  static absl::StatusOr<UniqueFd> CreateFile(Kind kind);
  static absl::Status Seal(Kind kind, const UniqueFd& fd);
  // Maps a heap's file without access, at some distance from other heaps (shared_mapping.cc says why), and neither
  // locked nor dumped, whatever the process asked for in advance, since either would fill it. Null if the kernel
  // refuses.
  static void* ReserveHeap(int fd);
  // A part of it likewise, in the place of what is at `at`, so that nothing is left of what was asked for that. False
  // if the kernel refuses: then it may be mapped, but locked or dumped.
  static bool ReserveHeapAt(void* at, int fd, size_t offset, size_t bytes);

  // A peer's file. Refused unless it is memory of exactly this kind's size whose size is sealed: anything else could
  // raise SIGBUS when it is touched.
  static absl::StatusOr<std::shared_ptr<SharedMapping>> Attach(Kind kind, const UniqueFd& fd);

  // In a child made by fork: puts private memory of zeros in the place of every mapping, and none of a heap. One that
  // another thread was making or dropping at the moment of the fork may be left out.
  static void SeverAll();

  SharedMapping(const SharedMapping&) = delete;
  SharedMapping& operator=(const SharedMapping&) = delete;
  ~SharedMapping();

  PairMemory& pair() const { return *static_cast<PairMemory*>(base_); }
  ReadyMemory& ready() const { return *static_cast<ReadyMemory*>(base_); }
  const QueuesMemory& queues() const { return *static_cast<const QueuesMemory*>(base_); }
  const PublishedMemory& published() const { return *static_cast<const PublishedMemory*>(base_); }
  // Of a heap's kHeapBytes the first can be read, as many as OpenHeap was asked for: whole pages. False: the kernel
  // refuses, and nothing has changed.
  const std::byte* heap() const { return static_cast<const std::byte*>(base_); }
  bool OpenHeap(size_t bytes);
  // Only for the process that made it.
  QueuesMemory& own_queues() const { return *static_cast<QueuesMemory*>(base_); }
  PublishedMemory& own_published() const { return *static_cast<PublishedMemory*>(base_); }

  // A descriptor to pass on. Empty handed if the process is out of descriptors, or did not make the file.
  UniqueFd DuplicateFd() const;
  // Once everyone who needs the file has it.
  void CloseFd() { fd_.Reset(); }

 private:
  using FileId = std::pair<dev_t, ino_t>;

  SharedMapping(Kind kind, FileId id, void* base, UniqueFd fd)
      : kind_(kind), id_(id), base_(base), fd_(std::move(fd)) {}
  static absl::StatusOr<std::shared_ptr<SharedMapping>> Map(Kind kind, const UniqueFd& fd, bool writable,
                                                            UniqueFd keep);

  const Kind kind_;
  const FileId id_;
  void* const base_;
  UniqueFd fd_;
  std::atomic<size_t> open_{0};  // Bytes of a heap.
};

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_SHARED_MAPPING_H_
