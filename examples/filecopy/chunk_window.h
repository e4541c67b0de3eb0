// A bounded number of Write calls in flight: keeps the path full without filling memory.
//
// Thread: the public methods are for one; completions come on the channel's event loop.

#ifndef VERBENA_EXAMPLES_FILECOPY_CHUNK_WINDOW_H_
#define VERBENA_EXAMPLES_FILECOPY_CHUNK_WINDOW_H_

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "examples/filecopy/filecopy.verbena.h"
#include "rpc/payload.h"

namespace verbena::examples {

class ChunkWindow {
 public:
  // `stub` must outlive this. `calls_max` >= 1; each call may take `timeout`.
  ChunkWindow(filecopy::FileCopy::Stub& stub, uint64_t transfer, size_t calls_max, absl::Duration timeout)
      : stub_(stub), transfer_(transfer), calls_max_(calls_max), timeout_(timeout) {}
  ChunkWindow(const ChunkWindow&) = delete;
  ChunkWindow& operator=(const ChunkWindow&) = delete;
  ~ChunkWindow();  // Waits for the calls in flight.

  // Blocks until fewer than calls_max calls are in flight. The error of the first call that failed, if one did: nothing
  // should be sent any more.
  absl::Status WaitForRoom();
  // Starts a call; to be preceded by a WaitForRoom of its own.
  void Send(uint64_t offset, PayloadMemory chunk);
  // Blocks until no call is in flight. As WaitForRoom.
  absl::Status WaitForAll();

  uint64_t acknowledged_bytes() const;

 private:
  struct Call;

  void OnDone(absl::Status status, uint64_t bytes);
  absl::Status WaitUntilBelow(size_t calls);

  // Constant after construction.
  filecopy::FileCopy::Stub& stub_;
  const uint64_t transfer_;
  const size_t calls_max_;
  const absl::Duration timeout_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  size_t calls_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t acknowledged_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace verbena::examples

#endif  // VERBENA_EXAMPLES_FILECOPY_CHUNK_WINDOW_H_
