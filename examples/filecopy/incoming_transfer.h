// One file on its way in: its partial file, and the SHA-256 of what has arrived.
//
// Thread: Write by any number at a time, for different chunks of one file are written in parallel; so may Finish be,
// and fails if a chunk is still being written. Once anything has failed, all that follows fails alike.

#ifndef VERBENA_EXAMPLES_FILECOPY_INCOMING_TRANSFER_H_
#define VERBENA_EXAMPLES_FILECOPY_INCOMING_TRANSFER_H_

#include <cstdint>
#include <mutex>
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
  IncomingTransfer(PartialFile file, uint64_t bytes) : bytes_(bytes), file_(std::move(file)), digest_(bytes) {}

  // InvalidArgument: outside of the file, or written before. Else the disk's error.
  absl::Status Write(uint64_t offset, const absl::Cord& chunk);

  // Gives the file its name if all bytes are there and their SHA-256 is `expected_sha256`; returns it. DataLoss: it is
  // not. FailedPrecondition: bytes are missing.
  absl::StatusOr<std::string> Finish(absl::string_view expected_sha256);

  uint64_t bytes() const { return bytes_; }

 private:
  // Constant after construction; the file takes writes from any thread.
  const uint64_t bytes_;
  PartialFile file_;

  std::mutex mutex_;
  OrderedDigest digest_ ABSL_GUARDED_BY(mutex_);
  uint64_t written_ ABSL_GUARDED_BY(mutex_) = 0;  // On disk, as far as we know; digest_ may be ahead of it.
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);  // What is to follow fails with this.
};

}  // namespace verbena::examples

#endif  // VERBENA_EXAMPLES_FILECOPY_INCOMING_TRANSFER_H_
