#include "examples/filecopy/file_sender.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "examples/filecopy/chunk_window.h"
#include "examples/filecopy/sha256.h"
#include "examples/filecopy/source_file.h"
#include "rpc/client_context.h"
#include "rpc/payload.h"

namespace verbena::examples {
namespace {

absl::StatusOr<filecopy::BeginReply> Begin(filecopy::FileCopy::Stub& stub, const std::string& name, uint64_t bytes,
                                           const SendOptions& options) {
  ClientContext context;
  context.set_timeout(options.timeout);
  filecopy::BeginRequest request;
  request.set_name(name);
  request.set_bytes(bytes);
  filecopy::BeginReply reply;
  if (absl::Status status = stub.Begin(&context, request, &reply); !status.ok()) return status;
  if (reply.chunk_bytes_max() == 0) return absl::InternalError("the server takes no chunks");
  return reply;
}

absl::StatusOr<filecopy::FinishReply> Finish(filecopy::FileCopy::Stub& stub, uint64_t transfer,
                                             const std::string& sha256, const SendOptions& options) {
  ClientContext context;
  context.set_timeout(options.finish_timeout);
  filecopy::FinishRequest request;
  request.set_transfer(transfer);
  request.set_sha256(sha256);
  filecopy::FinishReply reply;
  if (absl::Status status = stub.Finish(&context, request, &reply); !status.ok()) return status;
  return reply;
}

// Its outcome does not matter: a server that does not hear of it drops the transfer when it has been idle for long.
void Abandon(filecopy::FileCopy::Stub& stub, uint64_t transfer) {
  ClientContext context;
  context.set_timeout(absl::Seconds(2));
  filecopy::AbandonRequest request;
  request.set_transfer(transfer);
  filecopy::AbandonReply reply;
  stub.Abandon(&context, request, &reply).IgnoreError();
}

// Sends all chunks and waits until they are acknowledged. Returns the SHA-256 of what was read.
absl::StatusOr<std::string> SendChunks(SourceFile& file, uint64_t chunk_bytes, ChunkWindow& window,
                                       const SendProgress& progress) {
  Sha256 digest;
  uint64_t size = 0;
  for (uint64_t offset = 0; offset < file.size(); offset += size) {
    size = std::min(chunk_bytes, file.size() - offset);
    if (absl::Status status = window.WaitForRoom(); !status.ok()) return status;
    absl::StatusOr<PayloadMemory> chunk = AllocatePayload(size);
    if (!chunk.ok()) return chunk.status();
    if (absl::Status status = file.Read({chunk->data(), size}); !status.ok()) return status;
    digest.Update({reinterpret_cast<const char*>(chunk->data()), size});
    window.Send(offset, *std::move(chunk));
    progress(window.acknowledged_bytes(), file.size());
  }
  if (absl::Status status = window.WaitForAll(); !status.ok()) return status;
  progress(file.size(), file.size());
  if (absl::Status status = file.CheckEnd(); !status.ok()) return status;
  return digest.Finish();
}

}  // namespace

absl::StatusOr<SendReport> SendFile(filecopy::FileCopy::Stub& stub, const std::string& path, const std::string& name,
                                    const SendOptions& options, const SendProgress& progress) {
  const absl::Time start = absl::Now();
  absl::StatusOr<SourceFile> file = SourceFile::Open(path);
  if (!file.ok()) return file.status();
  const absl::StatusOr<filecopy::BeginReply> begun = Begin(stub, name, file->size(), options);
  if (!begun.ok()) return begun.status();

  absl::StatusOr<std::string> sha256;
  {
    ChunkWindow window(stub, begun->transfer(), options.calls_max, options.timeout);
    sha256 = SendChunks(*file, std::min(options.chunk_bytes, begun->chunk_bytes_max()), window, progress);
  }
  absl::StatusOr<filecopy::FinishReply> finished =
      sha256.ok() ? Finish(stub, begun->transfer(), *sha256, options) : sha256.status();
  if (!finished.ok()) {
    Abandon(stub, begun->transfer());
    return finished.status();
  }
  return SendReport{.bytes = file->size(),
                    .duration = absl::Now() - start,
                    .client_sha256 = *std::move(sha256),
                    .server_sha256 = finished->sha256(),
                    .rdma_reads = finished->rdma_reads()};
}

}  // namespace verbena::examples
