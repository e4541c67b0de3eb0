#include "examples/filecopy/incoming_transfer.h"

#include <algorithm>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace verbena::examples {
namespace {

absl::Status WriteChunk(PartialFile& file, uint64_t offset, const absl::Cord& chunk) {
  for (absl::string_view piece : chunk.Chunks()) {
    if (absl::Status status = file.WriteAt(offset, piece); !status.ok()) return status;
    offset += piece.size();
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status IncomingTransfer::Write(uint64_t offset, const absl::Cord& chunk) {
  {
    // Hashing under the lock keeps the order; other threads write to the disk meanwhile.
    std::lock_guard<std::mutex> lock(mutex_);
    if (!failure_.ok()) return failure_;
    if (absl::Status status = digest_.Check(offset, chunk.size()); !status.ok()) return status;
    digest_.Add(offset, chunk);
    unwritten_.insert(offset);
    ++writers_;
  }
  absl::Status status = WriteChunk(*file_, offset, chunk);
  std::lock_guard<std::mutex> lock(mutex_);
  if (status.ok()) unwritten_.erase(offset);
  if (status.ok() && Written() > file_->received()) status = file_->SetReceived(Written());
  failure_.Update(status);
  --writers_;
  written_chunk_.notify_all();
  return status;
}

uint64_t IncomingTransfer::Written() const {
  return unwritten_.empty() ? digest_.hashed_bytes() : std::min(digest_.hashed_bytes(), *unwritten_.begin());
}

absl::StatusOr<std::string> IncomingTransfer::Finish(absl::string_view expected_sha256) {
  std::unique_lock<std::mutex> lock(mutex_);
  if (!failure_.ok()) return failure_;
  if (Written() != bytes_) {
    return absl::FailedPreconditionError(absl::StrCat(Written(), " of ", bytes_, " bytes have been written"));
  }
  std::string sha256 = digest_.Current();
  if (sha256 != expected_sha256) {
    Stop(lock,
         absl::DataLossError(absl::StrCat("what arrived has SHA-256 ", absl::BytesToHexString(sha256),
                                          ", what was sent ", absl::BytesToHexString(expected_sha256))),
         Kept::kNothing);
    return failure_;
  }
  const absl::Status committed = file_->Commit();
  Stop(lock, committed.ok() ? absl::FailedPreconditionError("the transfer is finished") : committed, Kept::kReceived);
  if (!committed.ok()) return committed;
  return sha256;
}

void IncomingTransfer::Stop(const absl::Status& why) {
  std::unique_lock<std::mutex> lock(mutex_);
  Stop(lock, why, Kept::kReceived);
}

void IncomingTransfer::Discard(const absl::Status& why) {
  std::unique_lock<std::mutex> lock(mutex_);
  Stop(lock, why, Kept::kNothing);
}

void IncomingTransfer::Stop(std::unique_lock<std::mutex>& lock, const absl::Status& why, Kept kept) {
  failure_.Update(why);
  written_chunk_.wait(lock, [this] { return writers_ == 0; });
  if (kept == Kept::kNothing && file_.has_value()) file_->Discard();
  file_.reset();
}

}  // namespace verbena::examples
