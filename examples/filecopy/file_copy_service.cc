#include "examples/filecopy/file_copy_service.h"

#include <iostream>
#include <memory>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "examples/filecopy/file_name.h"
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

}  // namespace

absl::Status FileCopyService::Begin(ServerContext* context, const filecopy::BeginRequest* request,
                                    filecopy::BeginReply* reply) {
  if (absl::Status status = CheckFileName(request->name()); !status.ok()) return status;
  absl::StatusOr<PartialFile> file = PartialFile::Create(directory_, request->name(), request->bytes());
  if (!file.ok()) return file.status();
  const std::shared_ptr<Transfer> transfer(new Transfer{request->name(), ReadTransportCounters().reads,
                                                        IncomingTransfer(*std::move(file), request->bytes())});
  const absl::StatusOr<uint64_t> id = transfers_.Add(transfer, absl::Now());
  if (!id.ok()) return id.status();
  reply->set_transfer(*id);
  reply->set_chunk_bytes_max(kChunkBytesMax);
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
  transfers_.Remove(request->transfer());
  return absl::OkStatus();
}

}  // namespace verbena::examples
