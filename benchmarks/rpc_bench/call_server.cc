#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "benchmarks/rpc_bench/attachment_ring.h"
#include "benchmarks/rpc_bench/bench.verbena.h"
#include "benchmarks/rpc_bench/co_echo_service.h"
#include "benchmarks/rpc_bench/echo_call.h"
#include "benchmarks/rpc_bench/echo_reactor.h"
#include "benchmarks/rpc_bench/one_way_reactors.h"
#include "benchmarks/rpc_bench/rounds.h"
#include "benchmarks/yardstick/child_process.h"
#include "rpc/attachment/attachment_reader.h"
#include "rpc/reactors.h"
#include "rpc/server.h"
#include "rpc/server_context.h"
#include "transport/wire/checksum.h"

namespace verbena::benchmarks {
namespace {

constexpr uint64_t kRoom = 4096;  // For what a message has beside payload and attachment.

class EchoService final : public Bench::CallbackService {
 public:
  EchoService(absl::Cord attachment, AttachmentRing stream_attachments)
      : attachment_(std::move(attachment)), stream_attachments_(std::move(stream_attachments)) {}

  void Echo(ServerContext* context, const Bytes* request, Bytes* reply, Responder done) override {
    reply->set_payload(request->payload());
    done(absl::OkStatus());
  }
  void Fetch(ServerContext* context, const Bytes* request, Bytes* reply, Responder done) override {
    context->set_attachment(attachment_);
    done(absl::OkStatus());
  }
  ServerBidiReactor<Bytes, Bytes>* EchoStream(ServerContext* context) override { return new EchoReactor; }
  ServerReadReactor<Bytes>* StreamFromClient(ServerContext*, Bytes*) override { return new TakingReactor; }
  ServerWriteReactor<Bytes>* StreamFromServer(ServerContext*, const Bytes* message) override {
    return new SendingReactor(*message, stream_attachments_);
  }

 private:
  const absl::Cord attachment_;              // Of each of Fetch's responses.
  const AttachmentRing stream_attachments_;  // Of StreamFromServer's messages.
};

class BlockingEchoService final : public Bench::Service {
 public:
  explicit BlockingEchoService(AttachmentRing attachments) : attachments_(std::move(attachments)) {}

  absl::Status Echo(ServerContext*, const Bytes* request, Bytes* reply) override {
    reply->set_payload(request->payload());
    return absl::OkStatus();
  }
  absl::Status EchoStream(ServerContext*, ServerReaderWriter<Bytes, Bytes>* stream) override {
    Bytes message;
    while (stream->Read(&message)) {
      if (absl::Status written = stream->Write(message); !written.ok()) return written;
    }
    return absl::OkStatus();
  }
  absl::Status StreamFromClient(ServerContext*, ServerReader<Bytes>* stream, Bytes*) override {
    Bytes message;
    absl::Cord attachment;
    while (stream->Read(&message, &attachment)) {
    }
    return absl::OkStatus();
  }
  absl::Status StreamFromServer(ServerContext*, const Bytes* message, ServerWriter<Bytes>* stream) override {
    absl::Status written;
    AttachmentRing attachments = attachments_;
    while (written.ok()) written = stream->Write(*message, attachments.Next());
    return written;
  }

 private:
  const AttachmentRing attachments_;  // Of StreamFromServer's messages.
};

void AddTo(wire::Crc32c& sum, const absl::Cord& bytes) {
  for (const absl::string_view piece : bytes.Chunks()) {
    sum.Add(absl::MakeConstSpan(reinterpret_cast<const std::byte*>(piece.data()), piece.size()));
  }
}

// Answers with what it has summed up.
class DigestService final : public Bench::Service {
 public:
  explicit DigestService(Digest digest) {
    if (digest == Digest::kParts) ReadAttachmentInParts("Echo");
  }

  absl::Status Echo(ServerContext* context, const Bytes*, Bytes* reply) override {
    AttachmentReader attachment = context->attachment_reader();
    wire::Crc32c sum;
    while (true) {
      const absl::StatusOr<absl::Cord> part = attachment.Read();
      if (!part.ok()) return part.status();
      if (part->empty()) break;
      AddTo(sum, *part);
    }
    reply->set_payload(absl::StrCat(sum.value()));
    return absl::OkStatus();
  }
};

}  // namespace

TransportOptions TransportOf(const BenchSettings& settings) {
  TransportOptions options;
  options.device = settings.device;
  const uint64_t largest = std::max(settings.attachment_bytes, settings.beside_attachment_bytes);
  options.message_bytes_max = std::max<uint64_t>(options.message_bytes_max, largest + settings.payload_bytes + kRoom);
  return options;
}

absl::Status ServeCalls(const BenchSettings& settings) {
  ServerOptions options;
  options.transport = TransportOf(settings);
  options.wait = settings.wait;
  options.first_cpu = settings.cpus.server;
  absl::StatusOr<absl::Cord> attachment =
      MakeAttachment(settings.beside_in_response ? settings.beside_attachment_bytes : 0);
  if (!attachment.ok()) return attachment.status();
  absl::StatusOr<AttachmentRing> stream_attachments =
      AttachmentRing::Create(settings.one_way == Sender::kServer ? settings.attachment_bytes : 0);
  if (!stream_attachments.ok()) return stream_attachments.status();
  EchoService echo(*std::move(attachment), *stream_attachments);
  DigestService digest(settings.digest);
  BlockingEchoService blocking_echo(*stream_attachments);
  CoEchoService coroutine_echo(*stream_attachments);
  Service* service = &echo;
  if (settings.handler == Handler::kBlocking) service = &blocking_echo;
  if (settings.handler == Handler::kCoroutine) service = &coroutine_echo;
  if (settings.digest != Digest::kNone) service = &digest;
  const std::string scheme = settings.device == "soft" ? "soft" : "rdma";
  absl::StatusOr<std::unique_ptr<Server>> server =
      Server::Builder()
          .AddListeningAddress(absl::StrCat(scheme, "://", settings.host, ":0"))
          .RegisterService(service)
          .SetOptions(options)
          .Build();
  if (!server.ok()) return server.status();
  SayLine((*server)->addresses().front());
  WaitForEndOfInput();
  (*server)->Shutdown(absl::Seconds(5));
  return absl::OkStatus();
}

}  // namespace verbena::benchmarks
