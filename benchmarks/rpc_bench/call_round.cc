#include <chrono>
#include <memory>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "benchmarks/rpc_bench/bench.verbena.h"
#include "benchmarks/rpc_bench/rounds.h"
#include "benchmarks/rpc_bench/rpc_load.h"
#include "benchmarks/yardstick/child_process.h"
#include "rpc/channel.h"
#include "rpc/server.h"

namespace verbena::benchmarks {
namespace {

constexpr absl::Duration kConnectTimeout = absl::Seconds(30);  // For all connections.

class EchoService final : public Bench::CallbackService {
 public:
  void Echo(ServerContext* context, const Bytes* request, Bytes* reply, Responder done) override {
    reply->set_payload(request->payload());
    done(absl::OkStatus());
  }
};

TransportOptions TransportOf(const BenchSettings& settings) {
  TransportOptions options;
  options.device = settings.device;
  return options;
}

// Connections are made ahead of the calls; with the last of them the measurement can begin.
absl::Status WaitUntilConnected(const Channel& channel, uint64_t connections) {
  const absl::Time deadline = absl::Now() + kConnectTimeout;
  while (ReadTransportCounters().connections < connections) {
    if (absl::Now() > deadline) {
      return absl::UnavailableError(absl::StrCat(ReadTransportCounters().connections, " of ", connections,
                                                 " connections were made: ", channel.DescribeState()));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return absl::OkStatus();
}

absl::StatusOr<CallFigures> Measure(const BenchSettings& settings, const std::string& address) {
  ChannelOptions options;
  options.transport = TransportOf(settings);
  options.wait = settings.wait;
  options.first_cpu = settings.cpus.client;
  options.connections = settings.connections;
  options.connect_timeout = kConnectTimeout;
  absl::StatusOr<std::shared_ptr<Channel>> channel = Channel::Create(address, options);
  if (!channel.ok()) return channel.status();
  if (absl::Status status = WaitUntilConnected(**channel, settings.connections); !status.ok()) return status;

  RpcLoad load(*channel, {.payload_bytes = settings.payload_bytes,
                          .attachment_bytes = settings.attachment_bytes,
                          .in_flight = settings.in_flight,
                          .warm_up = settings.round_duration / 10,
                          .duration = settings.round_duration});
  return load.Run();
}

}  // namespace

absl::StatusOr<CallFigures> RunCallRound(const BenchSettings& settings,
                                         const std::vector<std::string>& server_arguments) {
  absl::StatusOr<ChildProcess> server = ChildProcess::Start(server_arguments);
  if (!server.ok()) return server.status();
  absl::StatusOr<CallFigures> figures = Measure(settings, server->line());
  if (!figures.ok()) return figures.status();
  if (absl::Status status = server->Stop(); !status.ok()) return status;
  return figures;
}

absl::Status ServeCalls(const BenchSettings& settings) {
  ServerOptions options;
  options.transport = TransportOf(settings);
  options.wait = settings.wait;
  options.first_cpu = settings.cpus.server;
  EchoService service;
  const std::string scheme = settings.device == "soft" ? "soft" : "rdma";
  absl::StatusOr<std::unique_ptr<Server>> server =
      Server::Builder()
          .AddListeningAddress(absl::StrCat(scheme, "://", settings.host, ":0"))
          .RegisterService(&service)
          .SetOptions(options)
          .Build();
  if (!server.ok()) return server.status();
  SayLine((*server)->addresses().front());
  WaitForEndOfInput();
  (*server)->Shutdown(absl::Seconds(5));
  return absl::OkStatus();
}

}  // namespace verbena::benchmarks
