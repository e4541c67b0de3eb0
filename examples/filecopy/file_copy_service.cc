#include "examples/filecopy/file_copy_service.h"

#include <iostream>
#include <memory>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "examples/filecopy/file_digest.h"
#include "examples/filecopy/file_name.h"
#include "examples/filecopy/source_file.h"
#include "rpc/options.h"
#include "rpc/server_context.h"

namespace verbena::examples {
namespace {

void LogReceived(const Transfer& transfer, const std::string& peer, const filecopy::FinishReply& reply) {
  std::cerr << absl::StrCat("filecopy_server: received ", transfer.name, ", ", transfer.incoming.bytes(),
                            " bytes from ", peer, ", ",
                            reply.rdma_reads() > 0 ? absl::StrCat("rendezvous: ", reply.rdma_reads(), " RDMA READs")
                                                   : std::string("eager: no RDMA READ"),
                            "\nfilecopy_server: sha256 ", absl::BytesToHexString(reply.sha256()), "\n");
}

void LogResumed(const filecopy::BeginRequest& request, uint64_t received, const std::string& peer) {
  std::cerr << absl::StrCat("filecopy_server: going on with ", request.name(), ": ", received, " of ", request.bytes(),
                            " bytes are here, for ", peer, "\n");
}

absl::StatusOr<Sha256> HashReceived(const PartialFile& partial, const ServerContext& context) {
  absl::StatusOr<SourceFile> file = SourceFile::Open(partial.path());
  if (!file.ok()) return file.status();
  return HashNext(*file, partial.received(), [&] { return context.IsCancelled(); });
}

}  // namespace

bool FileCopyService::IsComplete(const ServerContext& context, const filecopy::BeginRequest& request) const {
  if (request.sha256().empty()) return false;
  absl::StatusOr<SourceFile> file = SourceFile::Open(absl::StrCat(directory_, "/", request.name()));
  if (!file.ok() || file->size() != request.bytes()) return false;
  const absl::StatusOr<Sha256> digest = HashNext(*file, file->size(), [&] { return context.IsCancelled(); });
  return digest.ok() && digest->Current() == request.sha256();
}

absl::Status FileCopyService::Begin(ServerContext* context, const filecopy::BeginRequest* request,
                                    filecopy::BeginReply* reply) {
  if (absl::Status status = CheckFileName(request->name()); !status.ok()) return status;
  stale_partials_.RemoveIfDue(absl::Now());
  transfers_.Supersede(request->name());
  if (IsComplete(*context, *request)) {
    reply->set_complete(true);
    return absl::OkStatus();
  }
  absl::StatusOr<PartialFile> file = PartialFile::Open(directory_, request->name(), request->bytes(), request->anew());
  if (!file.ok()) return file.status();
  absl::StatusOr<Sha256> beginning = HashReceived(*file, *context);
  if (!beginning.ok()) return beginning.status();
  const uint64_t received = file->received();
  reply->set_received_bytes(received);
  reply->set_received_sha256(beginning->Current());
  reply->set_dropped_bytes(file->dropped());

  OrderedDigest digest(request->bytes(), *std::move(beginning), received);
  const std::shared_ptr<Transfer> transfer(new Transfer{request->name(), ReadTransportCounters().reads,
                                                        IncomingTransfer(*std::move(file), std::move(digest))});
  const absl::StatusOr<uint64_t> id = transfers_.Add(transfer, absl::Now());
  if (!id.ok()) return id.status();
  reply->set_transfer(*id);
  reply->set_chunk_bytes_max(kChunkBytesMax);
  if (received > 0) LogResumed(*request, received, context->peer());
  return absl::OkStatus();
}

absl::Status FileCopyService::Write(ServerContext* context, const filecopy::WriteRequest* request,
                                    filecopy::WriteReply* reply) {
  if (context->attachment().size() > kChunkBytesMax) {
    return absl::InvalidArgumentError(absl::StrCat("the chunk is longer than ", kChunkBytesMax, " bytes"));
  }
  const absl::StatusOr<std::shared_ptr<Transfer>> transfer = transfers_.Find(request->transfer(), absl::Now());
  if (!transfer.ok()) return transfer.status();
  return (*transfer)->incoming.Write(request->offset(), context->attachment());
}

absl::Status FileCopyService::Finish(ServerContext* context, const filecopy::FinishRequest* request,
                                     filecopy::FinishReply* reply) {
  const absl::StatusOr<std::shared_ptr<Transfer>> transfer = transfers_.Find(request->transfer(), absl::Now());
  if (!transfer.ok()) return transfer.status();
  absl::StatusOr<std::string> sha256 = (*transfer)->incoming.Finish(request->sha256());
  if (sha256.status().code() == absl::StatusCode::kFailedPrecondition) return sha256.status();  // It may be continued.
  transfers_.Remove(request->transfer());
  if (!sha256.ok()) return sha256.status();
  reply->set_sha256(*std::move(sha256));
  reply->set_rdma_reads(ReadTransportCounters().reads - (*transfer)->reads_before);
  LogReceived(**transfer, context->peer(), *reply);
  return absl::OkStatus();
}

absl::Status FileCopyService::Abandon(ServerContext* context, const filecopy::AbandonRequest* request,
                                      filecopy::AbandonReply* reply) {
  const std::shared_ptr<Transfer> transfer = transfers_.Remove(request->transfer());
  if (transfer != nullptr) transfer->incoming.Discard(absl::AbortedError("the client has abandoned the transfer"));
  return absl::OkStatus();
}

}  // namespace verbena::examples
