// Measures calls of Cap'n Proto's RPC, as rpc_bench measures ours. Each end is one thread with an event loop, as
// Cap'n Proto's always are.
//
//   capnp_bench --payload=64 --in_flight=1 [--connections=1] [--transport=unix|tcp] [--pinned] [--seconds=2]

#include <capnp/ez-rpc.h>
#include <kj/async-io.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "benchmarks/capnp_bench/bench.capnp.h"
#include "benchmarks/yardstick/child_process.h"
#include "benchmarks/yardstick/peer_bench.h"

namespace verbena::benchmarks {
namespace {

using capnp_bench::Bench;

// Messages may be as large as they like.
constexpr capnp::ReaderOptions kReaderOptions = {.traversalLimitInWords = uint64_t{1} << 60};

// So that a message with the payload is made in one piece.
capnp::MessageSize SizeWith(size_t payload_bytes) {
  constexpr uint64_t kStructsWords = 32;
  return {.wordCount = payload_bytes / sizeof(capnp::word) + kStructsWords, .capCount = 1};
}

class EchoServer final : public Bench::Server {
  kj::Promise<void> echo(EchoContext context) override {
    const capnp::Data::Reader payload = context.getParams().getPayload();
    context.getResults(SizeWith(payload.size())).setPayload(payload);
    return kj::READY_NOW;
  }
};

// The calls in flight, each made again when it is done. Thread: the event loop's.
class CapnpLoad {
 public:
  // A client for each connection, used in turn.
  CapnpLoad(std::vector<Bench::Client> clients, const LoadShape& shape)
      : clients_(std::move(clients)), shape_(shape), payload_(shape.payload_bytes, 'v'), window_(shape, Clock::now()) {}

  LoadFigures Run(kj::WaitScope& wait_scope) {
    auto calls = kj::heapArrayBuilder<kj::Promise<void>>(shape_.in_flight);
    for (size_t i = 0; i < shape_.in_flight; ++i) calls.add(CallUntilOver(Clock::now()));
    kj::joinPromises(calls.finish()).wait(wait_scope);
    return LoadFigures(std::move(latencies_), shape_);
  }

 private:
  using Clock = LoadWindow::Clock;

  kj::Promise<void> CallUntilOver(Clock::time_point start) {
    next_ = (next_ + 1) % clients_.size();
    auto request = clients_[next_].echoRequest(SizeWith(payload_.size()));
    request.setPayload(kj::StringPtr(payload_.c_str(), payload_.size()).asBytes());
    return request.send().then([this, start](auto&&) -> kj::Promise<void> {
      const Clock::time_point now = Clock::now();
      window_.Count(start, now, &latencies_);
      if (window_.IsOver(now)) return kj::READY_NOW;
      return CallUntilOver(now);
    });
  }

  std::vector<Bench::Client> clients_;
  size_t next_ = 0;  // Of clients_.
  const LoadShape shape_;
  const std::string payload_;
  const LoadWindow window_;
  LatencyHistogram latencies_;
};

absl::Status StatusOf(const kj::Exception& exception) {
  return absl::UnavailableError(absl::StrCat("Cap'n Proto: ", exception.getDescription().cStr()));
}

absl::Status Serve(const std::string& transport, const LoadShape&) try {
  const bool unix = transport == "unix";
  const std::string address = unix ? absl::StrCat("unix-abstract:verbena-capnp-bench-", getpid()) : "127.0.0.1:0";
  capnp::EzRpcServer server(kj::heap<EchoServer>(), address.c_str(), 0, kReaderOptions);
  const unsigned port = server.getPort().wait(server.getWaitScope());
  SayLine(unix ? address : absl::StrCat("127.0.0.1:", port));
  kj::Own<kj::AsyncInputStream> input = server.getLowLevelIoProvider().wrapInputFd(STDIN_FILENO);
  kj::byte ignored = 0;
  input->tryRead(&ignored, 1, 1).ignoreResult().wait(server.getWaitScope());  // Until it ends: nobody writes to it.
  return absl::OkStatus();
} catch (const kj::Exception& exception) {
  return StatusOf(exception);
}

absl::StatusOr<LoadFigures> Measure(const std::string& address, const LoadShape& shape) try {
  std::vector<std::unique_ptr<capnp::EzRpcClient>> connections;
  std::vector<Bench::Client> clients;
  for (size_t i = 0; i < shape.connections; ++i) {
    connections.push_back(std::make_unique<capnp::EzRpcClient>(address.c_str(), 0, kReaderOptions));
    clients.push_back(connections.back()->getMain<Bench>());
  }
  return CapnpLoad(std::move(clients), shape).Run(connections.front()->getWaitScope());
} catch (const kj::Exception& exception) {
  return StatusOf(exception);
}

}  // namespace
}  // namespace verbena::benchmarks

int main(int argc, char** argv) {
  using namespace verbena::benchmarks;
  return RunPeerBench({.name = "capnp_bench", .transports = {"unix", "tcp"}, .serve = Serve, .measure = Measure}, argc,
                      argv);
}
