#include "examples/filecopy/file_sender.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "examples/filecopy/chunk_window.h"
#include "examples/filecopy/file_digest.h"
#include "examples/filecopy/source_file.h"
#include "examples/filecopy/transfer_calls.h"
#include "rpc/payload.h"

namespace verbena::examples {
namespace {

// Transfers in a row that were interrupted before one more byte had arrived than ever before.
constexpr int kFruitlessTransfersMax = 5;

class FileSender {
 public:
  FileSender(filecopy::FileCopy::Stub& stub, SourceFile file, const std::string& name, const SendOptions& options,
             const SendObserver& observer)
      : stub_(stub), file_(std::move(file)), options_(options), observer_(observer) {
    request_.set_name(name);
    request_.set_bytes(file_.size());
  }

  // One transfer after the other, until one is not interrupted.
  absl::StatusOr<SendReport> Send();

 private:
  // From Begin to Finish.
  absl::Status Transfer();
  // Begins where the server's bytes and the file's agree, and so does digest_.
  absl::StatusOr<filecopy::BeginReply> Begin();
  absl::StatusOr<filecopy::BeginReply> CallBegin(bool anew);
  absl::Status HashBeginning(uint64_t bytes);
  absl::Status SendChunks(const filecopy::BeginReply& begun);
  bool MayGoOn(const absl::Status& status);

  filecopy::FileCopy::Stub& stub_;
  SourceFile file_;
  const SendOptions& options_;
  const SendObserver& observer_;
  filecopy::BeginRequest request_;

  Sha256 digest_;                       // Of what has been read of the file.
  std::optional<uint64_t> kept_bytes_;  // Nothing before the first Begin has succeeded.
  uint64_t received_max_ = 0;           // What the server ever had at a Begin.
  int fruitless_transfers_ = 0;         // In a row, as above.
  bool begun_ = false;                  // Since the last interruption.
  absl::Time resume_by_;                // When the server must have answered Begin, after an interruption.
  SendReport report_;
};

absl::StatusOr<SendReport> FileSender::Send() {
  absl::Status status = Transfer();
  while (MayGoOn(status)) {
    observer_.notice(absl::StrCat("interrupted: ", status.ToString(), "; waiting for the server"));
    status = Transfer();
  }
  if (!status.ok()) return status;
  report_.bytes = file_.size();
  report_.kept_bytes = *kept_bytes_;
  report_.client_sha256 = digest_.Current();
  return report_;
}

bool FileSender::MayGoOn(const absl::Status& status) {
  if (!IsInterruption(status) || !kept_bytes_.has_value()) return false;
  if (std::exchange(begun_, false)) resume_by_ = absl::Now() + options_.resume_timeout;
  return absl::Now() < resume_by_ && fruitless_transfers_ < kFruitlessTransfersMax;
}

absl::Status FileSender::Transfer() {
  ++fruitless_transfers_;
  const absl::StatusOr<filecopy::BeginReply> begun = Begin();
  if (!begun.ok()) return begun.status();
  begun_ = true;
  if (begun->complete()) {
    report_.server_sha256 = request_.sha256();
    return absl::OkStatus();
  }
  absl::Status status = SendChunks(*begun);
  if (status.ok()) status = file_.CheckUnchanged();
  if (status.ok()) {
    request_.set_sha256(digest_.Current());
    absl::StatusOr<filecopy::FinishReply> finished =
        FinishTransfer(stub_, begun->transfer(), request_.sha256(), options_.finish_timeout);
    status = finished.status();
    if (finished.ok()) {
      report_.server_sha256 = finished->sha256();
      report_.rdma_reads = finished->rdma_reads();
    }
  }
  if (!status.ok() && !IsInterruption(status)) AbandonTransfer(stub_, begun->transfer());
  return status;
}

absl::StatusOr<filecopy::BeginReply> FileSender::Begin() {
  absl::StatusOr<filecopy::BeginReply> begun = CallBegin(false);
  if (!begun.ok() || begun->complete()) return begun;
  if (absl::Status status = HashBeginning(begun->received_bytes()); !status.ok()) return status;
  if (digest_.Current() != begun->received_sha256()) {
    begun = CallBegin(true);
    digest_ = Sha256();
    if (absl::Status status = file_.Rewind(); !status.ok()) return status;
    if (!begun.ok()) return begun;
  }
  if (begun->dropped_bytes() > 0) {
    observer_.notice(absl::StrCat("starting anew: the ", begun->dropped_bytes(), " bytes that the server had of ",
                                  request_.name(), " were not the beginning of this file as it is now"));
  }
  const uint64_t received = begun->received_bytes();
  if (!kept_bytes_.has_value()) kept_bytes_ = received;
  if (received > received_max_) fruitless_transfers_ = 0;
  received_max_ = std::max(received_max_, received);
  if (received > 0) observer_.notice(absl::StrCat("going on after ", received, " of ", file_.size(), " bytes"));
  return begun;
}

absl::StatusOr<filecopy::BeginReply> FileSender::CallBegin(bool anew) {
  request_.set_anew(anew);
  const bool resumes = kept_bytes_.has_value();
  return BeginTransfer(stub_, request_, resumes ? resume_by_ - absl::Now() : options_.finish_timeout, resumes);
}

absl::Status FileSender::HashBeginning(uint64_t bytes) {
  if (absl::Status status = file_.Rewind(); !status.ok()) return status;
  absl::StatusOr<Sha256> digest = HashNext(file_, bytes, [] { return false; });
  if (digest.ok()) digest_ = *std::move(digest);
  return digest.status();
}

absl::Status FileSender::SendChunks(const filecopy::BeginReply& begun) {
  const uint64_t chunk_bytes = std::min(options_.chunk_bytes, begun.chunk_bytes_max());
  const uint64_t start = begun.received_bytes();
  ChunkWindow window(stub_, begun.transfer(), options_.calls_max, options_.timeout);
  uint64_t size = 0;
  for (uint64_t offset = start; offset < file_.size(); offset += size) {
    size = std::min(chunk_bytes, file_.size() - offset);
    if (absl::Status status = window.WaitForRoom(); !status.ok()) return ForgottenIsUnavailable(status);
    absl::StatusOr<PayloadMemory> chunk = AllocatePayload(size);
    if (!chunk.ok()) return chunk.status();
    if (absl::Status status = file_.Read({chunk->data(), size}); !status.ok()) return status;
    digest_.Update({reinterpret_cast<const char*>(chunk->data()), size});
    window.Send(offset, *std::move(chunk));
    observer_.progress(start + window.acknowledged_bytes(), file_.size());
  }
  if (absl::Status status = window.WaitForAll(); !status.ok()) return ForgottenIsUnavailable(status);
  observer_.progress(file_.size(), file_.size());
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<SendReport> SendFile(filecopy::FileCopy::Stub& stub, const std::string& path, const std::string& name,
                                    const SendOptions& options, const SendObserver& observer) {
  const absl::Time start = absl::Now();
  absl::StatusOr<SourceFile> file = SourceFile::Open(path);
  if (!file.ok()) return file.status();
  absl::StatusOr<SendReport> report = FileSender(stub, *std::move(file), name, options, observer).Send();
  if (report.ok()) report->duration = absl::Now() - start;
  return report;
}

}  // namespace verbena::examples
