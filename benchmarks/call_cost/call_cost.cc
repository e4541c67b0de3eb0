// What one call costs, for tools that count: both ends on one thread and one event loop, so that the counts are the
// same in each run. Under callgrind only the measured calls are collected (counts.py).
//
//   call_cost [--payload=64] [--in_flight=1] [--connections=1] [--streaming] [--calls=2000]
//
// Prints how many seconds the measured calls took, for what is done by the clock meanwhile, and for how many of them
// the thread was kept waiting for a processor.

#include <valgrind/callgrind.h>

#include <chrono>
#include <cstddef>
#include <fstream>
#include <future>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "benchmarks/rpc_bench/bench.verbena.h"
#include "benchmarks/rpc_bench/echo_reactor.h"
#include "rpc/channel.h"
#include "rpc/client_context.h"
#include "rpc/device_network.h"
#include "rpc/method_registry.h"
#include "rpc/reactors.h"
#include "rpc/server_loop.h"

ABSL_FLAG(size_t, payload, 64, "Bytes of the request's and of the reply's payload field.");
ABSL_FLAG(size_t, in_flight, 1, "Calls in flight.");
ABSL_FLAG(size_t, connections, 1, "Connections, used in turn.");
ABSL_FLAG(bool, streaming, false, "Messages over one stream, echoed, and no calls.");
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
        server_(loop, methods_.get(), nullptr, rpc::ServerSessionOptions(), rpc::StreamOptions(), kCallsMax) {}
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
  rpc::ServerLoop server_;
  std::unique_ptr<transport::Listener> listener_;
};

class Load {
 public:
  virtual ~Load() = default;
  // So many calls or messages.
  virtual absl::Status Run(size_t count, EventLoop* loop) = 0;
};

// So many calls at once, each made again when it is done, until all have been made.
class CallLoad final : public Load {
 public:
  CallLoad(std::shared_ptr<Channel> channel, size_t in_flight, size_t payload_bytes)
      : stub_(std::move(channel)), calls_(in_flight) {
    for (Call& call : calls_) call.request.set_payload(std::string(payload_bytes, 'v'));
  }

  absl::Status Run(size_t calls, EventLoop* loop) override {
    left_ = calls;
    // Within the loop, as a program that does everything on its loop makes them.
    loop->Post([this] {
      for (Call& call : calls_) MakeNext(&call);
    });
    loop->RunUntil([this] { return left_ == 0 && in_flight_ == 0; });
    return status_;
  }

 private:
  struct Call {
    ClientContext context;
    Bytes request;
    Bytes reply;
  };

  void MakeNext(Call* call) {
    if (left_ == 0) return;
    --left_;
    ++in_flight_;
    call->context.Reset();
    stub_.async()->Echo(&call->context, &call->request, &call->reply, [this, call](absl::Status status) {
      --in_flight_;
      status_.Update(status);
      MakeNext(call);
    });
  }

  Bench::Stub stub_;
  std::vector<Call> calls_;
  size_t left_ = 0;
  size_t in_flight_ = 0;
  absl::Status status_;
};

// So many messages on their way, each followed by another when it is back, over a stream that stays.
class StreamLoad final : public Load, private ClientBidiReactor<Bytes, Bytes> {
 public:
  StreamLoad(std::shared_ptr<Channel> channel, size_t in_flight, size_t payload_bytes, EventLoop* loop)
      : stub_(std::move(channel)), loop_(*loop), in_flight_max_(in_flight) {
    request_.set_payload(std::string(payload_bytes, 'v'));
    loop_.Post([this] {
      stub_.async()->EchoStream(&context_, this);
      StartRead(&reply_);
      StartCall();
    });
  }
  ~StreamLoad() override {
    loop_.Post([this] { StartWritesDone(); });
    loop_.RunUntil([this] { return ended_; });
  }

  absl::Status Run(size_t messages, EventLoop* loop) override {
    left_ = messages;
    loop->Post([this] { WriteIfRoom(); });
    loop->RunUntil([this] { return ended_ || (left_ == 0 && in_flight_ == 0); });
    return status_;
  }

 private:
  void WriteIfRoom() {
    if (writing_ || left_ == 0 || in_flight_ == in_flight_max_) return;
    writing_ = true;
    --left_;
    ++in_flight_;
    StartWrite(&request_);
  }
  void OnWriteDone(bool ok) override {
    writing_ = false;
    if (ok) WriteIfRoom();
  }
  void OnReadDone(bool ok) override {
    if (!ok) return;
    --in_flight_;
    StartRead(&reply_);
    WriteIfRoom();
  }
  void OnDone(const absl::Status& status) override {
    status_ = status;
    ended_ = true;
  }

  Bench::Stub stub_;
  EventLoop& loop_;
  const size_t in_flight_max_;
  ClientContext context_;
  Bytes request_;
  Bytes reply_;
  size_t left_ = 0;
  size_t in_flight_ = 0;
  bool writing_ = false;
  bool ended_ = false;
  absl::Status status_;
};

std::unique_ptr<Load> MakeLoad(std::shared_ptr<Channel> channel, EventLoop* loop) {
  const size_t in_flight = absl::GetFlag(FLAGS_in_flight);
  const size_t payload_bytes = absl::GetFlag(FLAGS_payload);
  if (!absl::GetFlag(FLAGS_streaming)) {
    return std::make_unique<CallLoad>(std::move(channel), in_flight, payload_bytes);
  }
  return std::make_unique<StreamLoad>(std::move(channel), in_flight, payload_bytes, loop);
}

absl::Status Run() {
  EventLoopOptions loop_options;
  loop_options.wait = WaitPolicy::kBusy;
  absl::StatusOr<std::unique_ptr<EventLoop>> loop = EventLoop::Create(loop_options);
  if (!loop.ok()) return loop.status();
  EchoService service;
  absl::StatusOr<std::unique_ptr<LoopServer>> server = LoopServer::Start(&service, loop->get());
  if (!server.ok()) return server.status();
  ChannelOptions options;
  options.loop = loop->get();
  options.transport.device = "soft";
  options.connections = absl::GetFlag(FLAGS_connections);
  options.connect_timeout = absl::Minutes(2);  // Of all connections, under valgrind.
  absl::StatusOr<std::shared_ptr<Channel>> channel = Channel::Create((*server)->address(), options);
  if (!channel.ok()) return channel.status();

  const absl::Time deadline = absl::Now() + options.connect_timeout;
  const auto connected = [&channel] { return (*channel)->connections_ready() >= absl::GetFlag(FLAGS_connections); };
  (*loop)->RunUntil([&] { return connected() || absl::Now() > deadline; });
  if (!connected()) return absl::UnavailableError("not all connections were made");

  const absl::Time settled = absl::Now() + kSettleTime;
  (*loop)->RunUntil([settled] { return absl::Now() >= settled; });

  const size_t calls = absl::GetFlag(FLAGS_calls);
  const std::unique_ptr<Load> load = MakeLoad(*std::move(channel), loop->get());
  for (int run = 0; run < kWarmUpRuns; ++run) {
    if (absl::Status warm = load->Run(calls, loop->get()); !warm.ok()) return warm;
  }
  const double waited_before = SecondsKeptWaiting();
  const absl::Time begin = absl::Now();
  CALLGRIND_START_INSTRUMENTATION;
  absl::Status measured = load->Run(calls, loop->get());
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
