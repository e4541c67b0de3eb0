// Measures calls of gRPC, or messages of a stream, as rpc_bench measures ours. gRPC, which has many threads, may do
// better without --pinned.
//
//   grpc_bench --payload=64 --in_flight=1 [--connections=1] [--streaming [--one_way=client|server]] [--callers]
//   [--rate=10000] [--transport=unix|tcp] [--pinned] [--seconds=2]

#include <grpcpp/grpcpp.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"
#include "benchmarks/grpc_bench/grpc_blocking_load.h"
#include "benchmarks/grpc_bench/grpc_load.h"
#include "benchmarks/grpc_bench/grpc_one_way_load.h"
#include "benchmarks/grpc_bench/grpc_open_load.h"
#include "benchmarks/grpc_bench/grpc_stream_load.h"
#include "benchmarks/yardstick/child_process.h"
#include "benchmarks/yardstick/load_bounds.h"
#include "benchmarks/yardstick/peer_bench.h"

ABSL_FLAG(bool, callers, false,
          "Blocking calls of --in_flight threads, each one after the other, over one connection; with --streaming a "
          "thread that writes and one that reads.");
ABSL_FLAG(
    std::string, one_way, "",
    "With --streaming: client or server, who alone sends messages, which the other drops. --in_flight says nothing "
    "then, nor do the latencies.");
ABSL_FLAG(double, rate, 0,
          "Calls a second over one connection, each due at its instant whatever becomes of the others (an open loop), "
          "at most --in_flight at once; 0: a call follows another.");

namespace verbena::benchmarks {
namespace {

constexpr std::chrono::seconds kConnectTimeout(30);  // For all connections.
constexpr double kRateMax = 1e7;                     // As rpc_bench's.

// Answers each message with itself. Deletes itself.
class EchoReactor final : public grpc::ServerBidiReactor<Bytes, Bytes> {
 public:
  EchoReactor() { StartRead(&message_); }

 private:
  void OnReadDone(bool ok) override { ok ? StartWrite(&message_) : Finish(grpc::Status::OK); }
  void OnWriteDone(bool ok) override { ok ? StartRead(&message_) : Finish(grpc::Status::OK); }
  void OnDone() override { delete this; }

  Bytes message_;
};

class EchoService final : public Bench::CallbackService {
  grpc::ServerUnaryReactor* Echo(grpc::CallbackServerContext* context, const Bytes* request, Bytes* reply) override {
    reply->set_payload(request->payload());
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }

  grpc::ServerBidiReactor<Bytes, Bytes>* EchoStream(grpc::CallbackServerContext*) override { return new EchoReactor(); }
  grpc::ServerReadReactor<Bytes>* StreamFromClient(grpc::CallbackServerContext*, Bytes*) override {
    return new TakingReactor;
  }
  grpc::ServerWriteReactor<Bytes>* StreamFromServer(grpc::CallbackServerContext*, const Bytes* message) override {
    return new SendingReactor(*message);
  }
};

absl::Status Serve(const std::string& transport, const LoadShape&) {
  EchoService service;
  grpc::ServerBuilder builder;
  const bool unix = transport == "unix";
  const std::string address = unix ? absl::StrCat("unix-abstract:verbena-grpc-bench-", getpid()) : "127.0.0.1:0";
  int port = 0;
  builder.AddListeningPort(address, grpc::InsecureServerCredentials(), &port);
  builder.SetMaxReceiveMessageSize(-1);
  builder.RegisterService(&service);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr) return absl::UnavailableError(absl::StrCat("gRPC does not listen on ", address));
  SayLine(unix ? address : absl::StrCat("127.0.0.1:", port));
  WaitForEndOfInput();
  server->Shutdown();
  return absl::OkStatus();
}

absl::Status Check(const LoadShape& shape) {
  const std::string sender = absl::GetFlag(FLAGS_one_way);
  if (!sender.empty()) {
    const bool known = sender == "client" || sender == "server";
    if (!known) return absl::InvalidArgumentError("--one_way must be client or server");
    if (!shape.streaming) return absl::InvalidArgumentError("--one_way is of --streaming");
  }
  const double rate = absl::GetFlag(FLAGS_rate);
  if (!(rate >= 0 && rate <= kRateMax)) {
    return absl::InvalidArgumentError(absl::StrCat("--rate must be from 0 to ", kRateMax));
  }
  if (rate > 0 && (shape.streaming || absl::GetFlag(FLAGS_callers) || shape.connections > 1)) {
    return absl::InvalidArgumentError("--rate is of calls over one connection, without --callers");
  }
  if (!absl::GetFlag(FLAGS_callers)) return absl::OkStatus();
  if (shape.connections > 1) return absl::InvalidArgumentError("--callers make calls over one connection");
  if (shape.in_flight > kCallersMax) {
    return absl::InvalidArgumentError(absl::StrCat("--callers are at most ", kCallersMax));
  }
  return absl::OkStatus();
}

absl::StatusOr<LoadFigures> Measure(const std::string& address, const LoadShape& shape) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // A connection for each channel.
  std::vector<std::shared_ptr<grpc::Channel>> channels;
  const auto deadline = std::chrono::system_clock::now() + kConnectTimeout;
  for (size_t i = 0; i < shape.connections; ++i) {
    channels.push_back(grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments));
    if (!channels.back()->WaitForConnected(deadline)) {
      return absl::UnavailableError(absl::StrCat("gRPC made ", i, " of ", shape.connections, " connections"));
    }
  }
  const bool callers = absl::GetFlag(FLAGS_callers);
  if (absl::GetFlag(FLAGS_one_way) == "client") {
    return callers ? RunGrpcBlockingWriter(channels.front(), shape) : RunGrpcWriter(channels.front(), shape);
  }
  if (absl::GetFlag(FLAGS_one_way) == "server") {
    return callers ? RunGrpcBlockingReader(channels.front(), shape) : RunGrpcReader(channels.front(), shape);
  }
  if (callers) {
    return shape.streaming ? RunGrpcBlockingStream(channels.front(), shape) : RunGrpcCallers(channels.front(), shape);
  }
  if (const double rate = absl::GetFlag(FLAGS_rate); rate > 0) {
    return GrpcOpenLoad(channels.front(), shape, rate).Run();
  }
  if (shape.streaming) return GrpcStreamLoad(channels.front(), shape).Run();
  return GrpcLoad(std::move(channels), shape).Run();
}

}  // namespace
}  // namespace verbena::benchmarks

int main(int argc, char** argv) {
  using namespace verbena::benchmarks;
  return RunPeerBench({.name = "grpc_bench",
                       .transports = {"unix", "tcp"},
                       .streams = true,
                       .check = Check,
                       .serve = Serve,
                       .measure = Measure},
                      argc, argv);
}
