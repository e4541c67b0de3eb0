// What one call costs, for tools that count: both ends on one thread and one event loop, so that the counts are the
// same in each run; with --issuer but for the instructions, of which two threads take more or less. Under callgrind
// only the measured calls are collected (counts.py).
//
//   call_cost [--payload=64] [--in_flight=1] [--connections=1] [--streaming] [--coroutines] [--issuer]
//     [--with=deadline,…] [--calls=2000]
//
// Prints how many seconds the measured calls took, for what is done by the clock meanwhile, and for how many of them
// the thread was kept waiting for a processor.

#include <valgrind/callgrind.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <fstream>
#include <future>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "benchmarks/call_cost/loads.h"
#include "benchmarks/rpc_bench/bench.verbena.h"
#include "benchmarks/rpc_bench/co_echo_service.h"
#include "benchmarks/rpc_bench/echo_reactor.h"
#include "rpc/auth/authentication.h"
#include "rpc/auth/call_guard.h"
#include "rpc/channel.h"
#include "rpc/device_network.h"
#include "rpc/method_registry.h"
#include "rpc/server_loop.h"

ABSL_FLAG(size_t, payload, 64, "Bytes of the request's and of the reply's payload field.");
ABSL_FLAG(size_t, in_flight, 1, "Calls in flight.");
ABSL_FLAG(size_t, connections, 1, "Connections, used in turn.");
ABSL_FLAG(bool, streaming, false, "Messages over one stream, echoed, and no calls.");
ABSL_FLAG(bool, coroutines, false, "Both ends are coroutines.");
ABSL_FLAG(bool, issuer, false, "A thread beside the loop makes the calls.");
ABSL_FLAG(
    std::vector<std::string>, with, {},
    "What calls have beside a request: deadline, each one; metadata, each an entry of 32 bytes; context, each a new "
    "one; interceptor, one at each end; authorizer, one that allows all; retries, a policy that would make them "
    "again.");
ABSL_FLAG(size_t, calls, 2000, "Calls that are counted. Twice as many before them are not.");

namespace verbena::benchmarks {
namespace {

// The second begins as the measured one does, with all calls at once on a connection that knows them.
constexpr int kWarmUpRuns = 2;
// For what connecting leaves to threads beside the loop: valgrind runs one at a time.
constexpr absl::Duration kSettleTime = absl::Milliseconds(200);

// So far, of this thread's (Documentation/scheduler/sched-stats.rst); 0 where the kernel does not say.
double SecondsKeptWaiting() {
  std::ifstream stats("/proc/thread-self/schedstat");
  double run = 0, waited = 0;
  stats >> run >> waited;
  return waited / 1e9;
}

class EchoService final : public Bench::CallbackService {
 public:
  void Echo(ServerContext*, const Bytes* request, Bytes* reply, Responder done) override {
    reply->set_payload(request->payload());
    done(absl::OkStatus());
  }
  ServerBidiReactor<Bytes, Bytes>* EchoStream(ServerContext*) override { return new EchoReactor; }
};

bool With(absl::string_view what) { return absl::c_linear_search(absl::GetFlag(FLAGS_with), what); }

// One for each call, which does nothing.
template <typename Context>
std::unique_ptr<CallInterceptor<Context>> LookOn(const CalledMethod&) {
  return std::make_unique<CallInterceptor<Context>>();
}

// Runs what waits for the loop on another thread, and drives the loop meanwhile.
template <typename Function>
auto Aside(EventLoop* loop, Function function) {
  auto result = std::async(std::launch::async, std::move(function));
  loop->RunUntil([&result] { return result.wait_for(std::chrono::seconds(0)) == std::future_status::ready; });
  return result.get();
}

// A server on a loop that somebody else drives.
class LoopServer {
 public:
  static absl::StatusOr<std::unique_ptr<LoopServer>> Start(Service* service, EventLoop* loop) {
    absl::StatusOr<std::unique_ptr<rpc::MethodRegistry>> methods = rpc::MethodRegistry::Create({service});
    if (!methods.ok()) return methods.status();
    auto server = std::make_unique<LoopServer>(*std::move(methods), loop);
    TransportOptions options;
    options.device = "soft";
    auto listener = Aside(loop, [&] {
      return rpc::DeviceNetwork()->Listen(
          "soft://127.0.0.1:0", options, {loop},
          [accepting = &server->server_](std::unique_ptr<transport::Connection> connection) {
            accepting->Accept(std::move(connection));
          },
          {});
    });
    if (!listener.ok()) return listener.status();
    server->listener_ = *std::move(listener);
    return server;
  }
  LoopServer(std::unique_ptr<rpc::MethodRegistry> methods, EventLoop* loop)
      : loop_(loop),
        methods_(std::move(methods)),
        server_(loop, methods_.get(), /*handlers=*/nullptr, rpc::ServerSessionOptions(), rpc::StreamOptions(),
                kCallsMax, With("authorizer") ? &access_ : nullptr, With("interceptor") ? &interceptors_ : nullptr) {}
  ~LoopServer() {
    Aside(loop_, [this] { listener_.reset(); });
    server_.Abort();
    server_.Shut();
  }

  const std::string& address() const { return listener_->addresses().front(); }

 private:
  static constexpr uint32_t kCallsMax = 16384;

  EventLoop* const loop_;
  const std::unique_ptr<rpc::MethodRegistry> methods_;
  const ServerInterceptors interceptors_ = {LookOn<ServerContext>};
  rpc::AccessControl access_ = {
      .authorizer = [](const PeerIdentity&, absl::string_view, const Metadata&) { return absl::OkStatus(); },
      .audit_log = {}};
  rpc::ServerLoop server_;
  std::unique_ptr<transport::Listener> listener_;
};

absl::Status CheckFlags() {
  constexpr std::array<absl::string_view, 6> kKnown = {"deadline",    "metadata",   "context",
                                                       "interceptor", "authorizer", "retries"};
  for (const std::string& what : absl::GetFlag(FLAGS_with)) {
    if (absl::c_linear_search(kKnown, what)) continue;
    return absl::InvalidArgumentError(absl::StrCat("--with=", what, ": there are ", absl::StrJoin(kKnown, ", ")));
  }
  if (absl::GetFlag(FLAGS_streaming) && (With("deadline") || With("metadata") || With("context"))) {
    return absl::InvalidArgumentError("--streaming: a stream's messages have no deadline, metadata or context");
  }
  if (absl::GetFlag(FLAGS_issuer) && (absl::GetFlag(FLAGS_streaming) || absl::GetFlag(FLAGS_coroutines))) {
    return absl::InvalidArgumentError("--issuer: of calls with call-backs only");
  }
  return absl::OkStatus();
}

absl::Status Run() {
  if (absl::Status checked = CheckFlags(); !checked.ok()) return checked;
  EventLoopOptions loop_options;
  loop_options.wait = WaitPolicy::kBusy;
  absl::StatusOr<std::unique_ptr<EventLoop>> loop = EventLoop::Create(loop_options);
  if (!loop.ok()) return loop.status();
  EchoService service;
  CoEchoService coroutine_service;
  const bool coroutines = absl::GetFlag(FLAGS_coroutines);
  absl::StatusOr<std::unique_ptr<LoopServer>> server =
      LoopServer::Start(coroutines ? static_cast<Service*>(&coroutine_service) : &service, loop->get());
  if (!server.ok()) return server.status();
  ChannelOptions options;
  options.loop = loop->get();
  options.transport.device = "soft";
  options.connections = absl::GetFlag(FLAGS_connections);
  options.connect_timeout = absl::Minutes(2);  // Of all connections, under valgrind.
  if (With("retries")) options.retries[""] = RetryPolicy{.attempts_max = 3};
  if (With("interceptor")) options.interceptors.push_back(LookOn<ClientContext>);
  absl::StatusOr<std::shared_ptr<Channel>> channel = Channel::Create((*server)->address(), options);
  if (!channel.ok()) return channel.status();

  const absl::Time deadline = absl::Now() + options.connect_timeout;
  const auto connected = [&channel] { return (*channel)->connections_ready() >= absl::GetFlag(FLAGS_connections); };
  (*loop)->RunUntil([&] { return connected() || absl::Now() > deadline; });
  if (!connected()) return absl::UnavailableError("not all connections were made");

  const absl::Time settled = absl::Now() + kSettleTime;
  (*loop)->RunUntil([settled] { return absl::Now() >= settled; });

  const size_t calls = absl::GetFlag(FLAGS_calls);
  const std::unique_ptr<Load> load = MakeLoad(*std::move(channel), loop->get(),
                                              {.payload_bytes = absl::GetFlag(FLAGS_payload),
                                               .in_flight = absl::GetFlag(FLAGS_in_flight),
                                               .streaming = absl::GetFlag(FLAGS_streaming),
                                               .coroutines = coroutines,
                                               .issuer = absl::GetFlag(FLAGS_issuer),
                                               .deadlines = With("deadline"),
                                               .metadata = With("metadata"),
                                               .own_contexts = With("context")});
  for (int run = 0; run < kWarmUpRuns; ++run) {
    if (absl::Status warm = load->Run(calls); !warm.ok()) return warm;
  }
  const double waited_before = SecondsKeptWaiting();
  const absl::Time begin = absl::Now();
  CALLGRIND_START_INSTRUMENTATION;
  absl::Status measured = load->Run(calls);
  CALLGRIND_STOP_INSTRUMENTATION;
  std::cout << absl::ToDoubleSeconds(absl::Now() - begin) << " " << SecondsKeptWaiting() - waited_before << std::endl;
  return measured;
}

}  // namespace
}  // namespace verbena::benchmarks

int main(int argc, char** argv) {
  absl::ParseCommandLine(argc, argv);
  const absl::Status status = verbena::benchmarks::Run();
  if (!status.ok()) std::cerr << absl::StrCat("call_cost: ", status.ToString(), "\n");
  return status.ok() ? 0 : 1;
}
