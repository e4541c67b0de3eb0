// The benchmarks' service by coroutines.

#ifndef VERBENA_BENCHMARKS_RPC_BENCH_CO_ECHO_SERVICE_H_
#define VERBENA_BENCHMARKS_RPC_BENCH_CO_ECHO_SERVICE_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/cord.h"
#include "benchmarks/rpc_bench/attachment_ring.h"
#include "benchmarks/rpc_bench/bench.verbena.h"
#include "rpc/server_context.h"

namespace verbena::benchmarks {

// Thread: the server's loops.
class CoEchoService final : public Bench::CoService {
 public:
  // What is attached to StreamFromServer's messages.
  explicit CoEchoService(AttachmentRing attachments = {}) : attachments_(std::move(attachments)) {}

  Task<absl::Status> Echo(ServerContext*, const Bytes* request, Bytes* reply) override {
    reply->set_payload(request->payload());
    co_return absl::OkStatus();
  }
  Task<absl::Status> EchoStream(ServerContext*, CoServerReaderWriter<Bytes, Bytes>* stream) override {
    Bytes message;
    while (co_await stream->Read(&message)) {
      if (absl::Status written = co_await stream->Write(std::move(message)); !written.ok()) co_return written;
    }
    co_return absl::OkStatus();
  }
  Task<absl::Status> StreamFromClient(ServerContext*, CoServerReader<Bytes>* stream, Bytes*) override {
    Bytes message;
    absl::Cord attachment;
    while (co_await stream->Read(&message, &attachment)) {
    }
    co_return absl::OkStatus();
  }
  Task<absl::Status> StreamFromServer(ServerContext*, const Bytes* message, CoServerWriter<Bytes>* stream) override {
    absl::Status written;
    AttachmentRing attachments = attachments_;
    while (written.ok()) written = co_await stream->Write(*message, attachments.Next());
    co_return written;
  }

 private:
  const AttachmentRing attachments_;
};

}  // namespace verbena::benchmarks

#endif  // VERBENA_BENCHMARKS_RPC_BENCH_CO_ECHO_SERVICE_H_
