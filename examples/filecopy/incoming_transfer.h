// One file on its way in: its partial file, and the SHA-256 of what has arrived.
//
// Thread: all methods by any number at a time, for different chunks of one file are written in parallel; Finish fails
// if a chunk is still being written. Once anything has failed, all that follows fails alike.

#ifndef VERBENA_EXAMPLES_FILECOPY_INCOMING_TRANSFER_H_
#define VERBENA_EXAMPLES_FILECOPY_INCOMING_TRANSFER_H_

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/cord.h"
#include "absl/strings/string_view.h"
#include "examples/filecopy/ordered_digest.h"
#include "examples/filecopy/partial_file.h"

namespace verbena::examples {

class IncomingTransfer {
 public:
  // `digest` has the beginning that `file` has received already.
  IncomingTransfer(PartialFile file, OrderedDigest digest)
      : bytes_(digest.bytes()), file_(std::move(file)), digest_(std::move(digest)) {}

  // InvalidArgument: outside of the file, or written before. Else the disk's error.
  absl::Status Write(uint64_t offset, const absl::Cord& chunk);

  // Gives the file its name if all bytes are there and their SHA-256 is `expected_sha256`; returns it. DataLoss: it is
  // not, and nothing is kept. FailedPrecondition: bytes are missing.
  absl::StatusOr<std::string> Finish(absl::string_view expected_sha256);

  // Waits for the chunks that are being written and lets go of the partial file, which another transfer may go on with.
  // What follows fails with `why`, if nothing has failed before.
  void Stop(const absl::Status& why);
  // The same, and nothing is kept.
  void Discard(const absl::Status& why);

  uint64_t bytes() const { return bytes_; }

 private:
  enum class Kept { kNothing, kReceived };
  void Stop(std::unique_lock<std::mutex>& lock, const absl::Status& why, Kept kept)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Up to where all bytes are in the file.
  uint64_t Written() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const uint64_t bytes_;

  // Nothing once stopped. Changed under mutex_, while nobody writes; the file itself takes chunks without it.
  std::optional<PartialFile> file_;

  std::mutex mutex_;
  std::condition_variable written_chunk_;
  OrderedDigest digest_ ABSL_GUARDED_BY(mutex_);
  int writers_ ABSL_GUARDED_BY(mutex_) = 0;               // In file_, without the lock.
  std::set<uint64_t> unwritten_ ABSL_GUARDED_BY(mutex_);  // Offsets of chunks that digest_ has and the file has not.
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);          // What is to follow fails with this.
};

}  // namespace verbena::examples

#endif  // VERBENA_EXAMPLES_FILECOPY_INCOMING_TRANSFER_H_
