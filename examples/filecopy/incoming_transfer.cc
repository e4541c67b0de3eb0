#include "examples/filecopy/incoming_transfer.h"

#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace verbena::examples {

absl::Status IncomingTransfer::Write(uint64_t offset, const absl::Cord& chunk) {
  {
    // Hashing under the lock keeps the order; other threads write to the disk meanwhile.
    std::lock_guard<std::mutex> lock(mutex_);
    if (!failure_.ok()) return failure_;
    if (absl::Status status = digest_.Check(offset, chunk.size()); !status.ok()) return status;
    digest_.Add(offset, chunk);
  }
  absl::Status status;
  uint64_t at = offset;
  for (absl::string_view piece : chunk.Chunks()) {
    status = file_.WriteAt(at, piece);
    if (!status.ok()) break;
    at += piece.size();
  }
  std::lock_guard<std::mutex> lock(mutex_);
  written_ += at - offset;
  failure_.Update(status);
  return status;
}

absl::StatusOr<std::string> IncomingTransfer::Finish(absl::string_view expected_sha256) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (!failure_.ok()) return failure_;
  if (written_ != bytes_) {
    return absl::FailedPreconditionError(absl::StrCat(written_, " of ", bytes_, " bytes have been written"));
  }
  std::string sha256 = digest_.Finish();
  failure_ = absl::FailedPreconditionError("the transfer is finished");
  if (sha256 != expected_sha256) {
    return absl::DataLossError(absl::StrCat("what arrived has SHA-256 ", absl::BytesToHexString(sha256),
                                            ", what was sent ", absl::BytesToHexString(expected_sha256)));
  }
  if (absl::Status status = file_.Commit(); !status.ok()) return status;
  return sha256;
}

}  // namespace verbena::examples
