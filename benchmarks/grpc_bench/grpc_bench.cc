// Measures unary calls of gRPC, as rpc_bench measures ours: another process serves, and one line of JSON says what came
// out. Pinned, each end has a core to itself, as each of rpc_bench's has; gRPC, which has many threads, may do better
// without.
//
//   grpc_bench --payload=64 --in_flight=1 [--transport=unix|tcp] [--pinned] [--seconds=2]

#include <grpcpp/grpcpp.h>
#include <unistd.h>

#include <iostream>
#include <string>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "benchmarks/grpc_bench/grpc_load.h"
#include "benchmarks/yardstick/child_process.h"
#include "benchmarks/yardstick/cpu_pinning.h"

ABSL_FLAG(size_t, payload, 64, "Bytes in the request and in the reply.");
ABSL_FLAG(size_t, in_flight, 1, "Calls in flight.");
ABSL_FLAG(double, seconds, 2, "How long to measure.");
ABSL_FLAG(std::string, transport, "unix", "unix: a Unix socket; tcp: the loopback interface.");
ABSL_FLAG(bool, pinned, false, "Pin each end to a core of its own.");
ABSL_FLAG(bool, serve, false, "For the program itself: its other process.");

namespace verbena::benchmarks {
namespace {

class EchoService final : public Bench::CallbackService {
  grpc::ServerUnaryReactor* Echo(grpc::CallbackServerContext* context, const Bytes* request, Bytes* reply) override {
    reply->set_payload(request->payload());
    grpc::ServerUnaryReactor* const reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
};

CpuPair Cpus() { return absl::GetFlag(FLAGS_pinned) ? ChooseCpus() : CpuPair(); }

absl::Status Serve() {
  const PinnedThread pinned(Cpus().server);  // And gRPC's threads with it.
  EchoService service;
  grpc::ServerBuilder builder;
  const bool unix = absl::GetFlag(FLAGS_transport) == "unix";
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

absl::Status Measure() {
  const std::string transport = absl::GetFlag(FLAGS_transport);
  absl::StatusOr<ChildProcess> server = ChildProcess::Start(
      {"--serve", absl::StrCat("--transport=", transport), absl::StrCat("--pinned=", absl::GetFlag(FLAGS_pinned))});
  if (!server.ok()) return server.status();
  const PinnedThread pinned(Cpus().client);
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  const absl::Duration duration = absl::Seconds(absl::GetFlag(FLAGS_seconds));
  GrpcLoad load(grpc::CreateCustomChannel(server->line(), grpc::InsecureChannelCredentials(), arguments),
                {.payload_bytes = absl::GetFlag(FLAGS_payload),
                 .in_flight = absl::GetFlag(FLAGS_in_flight),
                 .warm_up = duration / 10,
                 .duration = duration});
  const absl::StatusOr<GrpcFigures> figures = load.Run();
  if (!figures.ok()) return figures.status();
  std::cout << absl::StrFormat(
                   R"({"transport":"%s","payload_bytes":%d,"in_flight":%d,"calls":%d,"p50_us":%.3f,"p99_us":%.3f,)"
                   R"("calls_per_second":%.0f})",
                   transport, absl::GetFlag(FLAGS_payload), absl::GetFlag(FLAGS_in_flight), figures->latencies.count(),
                   figures->latencies.PercentileMicroseconds(50), figures->latencies.PercentileMicroseconds(99),
                   figures->calls_per_second)
            << std::endl;
  return server->Stop();
}

absl::Status Run() {
  const std::string transport = absl::GetFlag(FLAGS_transport);
  if (transport != "unix" && transport != "tcp") {
    return absl::InvalidArgumentError(absl::StrCat("--transport=", transport, " is neither unix nor tcp"));
  }
  return absl::GetFlag(FLAGS_serve) ? Serve() : Measure();
}

}  // namespace
}  // namespace verbena::benchmarks

int main(int argc, char** argv) {
  absl::ParseCommandLine(argc, argv);
  const absl::Status status = verbena::benchmarks::Run();
  if (!status.ok()) std::cerr << "grpc_bench: " << status << "\n";
  return status.ok() ? 0 : 1;
}
