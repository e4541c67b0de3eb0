#include <memory>

#include "absl/strings/str_cat.h"
#include "benchmarks/rpc_bench/bench.verbena.h"
#include "benchmarks/rpc_bench/rounds.h"
#include "benchmarks/yardstick/child_process.h"
#include "rpc/server.h"

namespace verbena::benchmarks {
namespace {

class EchoService final : public Bench::CallbackService {
 public:
  void Echo(ServerContext* context, const Bytes* request, Bytes* reply, Responder done) override {
    reply->set_payload(request->payload());
    done(absl::OkStatus());
  }
};

}  // namespace

TransportOptions TransportOf(const BenchSettings& settings) {
  TransportOptions options;
  options.device = settings.device;
  return options;
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
