// Measures unary calls of gRPC, as rpc_bench measures ours. gRPC, which has many threads, may do better without
// --pinned.
//
//   grpc_bench --payload=64 --in_flight=1 [--transport=unix|tcp] [--pinned] [--seconds=2]

#include <grpcpp/grpcpp.h>
#include <unistd.h>

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "benchmarks/grpc_bench/grpc_load.h"
#include "benchmarks/yardstick/child_process.h"
#include "benchmarks/yardstick/peer_bench.h"

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

absl::StatusOr<LoadFigures> Measure(const std::string& address, const LoadShape& shape) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  return GrpcLoad(grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments), shape).Run();
}

}  // namespace
}  // namespace verbena::benchmarks

int main(int argc, char** argv) {
  using namespace verbena::benchmarks;
  return RunPeerBench({.name = "grpc_bench", .transports = {"unix", "tcp"}, .serve = Serve, .measure = Measure}, argc,
                      argv);
}
