// Where channels and servers get loops, listeners, connections and threads from: the transport's factories, behind an
// interface so that rpc is tested without a device, and programs on rpc without real time.
//
// Owner: static (the device network) or the test. Thread: any, but Connect, which is for the loop's own.

#ifndef VERBENA_RPC_NETWORK_H_
#define VERBENA_RPC_NETWORK_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "rpc/executor/executor.h"
#include "rpc/executor/worker_threads.h"
#include "transport/endpoint.h"

namespace verbena::rpc {

// Each does what the transport's factory of that name does; see transport/endpoint.h.
class Network {
 public:
  virtual ~Network() = default;
  virtual absl::StatusOr<std::unique_ptr<transport::EventLoopGroup>> StartLoops(
      int count, const transport::EventLoopOptions& options) = 0;
  virtual absl::StatusOr<std::unique_ptr<transport::Listener>> Listen(
      absl::string_view address, const transport::TransportOptions& options, std::vector<transport::EventLoop*> loops,
      transport::Listener::AcceptCallback on_accept, const transport::AuthenticationPolicy& policy) = 0;
  virtual void Connect(absl::string_view address, const transport::TransportOptions& options,
                       transport::EventLoop* loop, transport::ConnectCallback done,
                       const transport::AuthenticationPolicy& policy) = 0;

  // Threads for blocking handlers; see WorkerThreads.
  virtual std::unique_ptr<Executor> StartExecutor(int threads, Executor::Work work) {
    return std::make_unique<WorkerThreads>(threads, std::move(work));
  }
  // What the clocks of its loops show (EventLoop::Now), read anew. Any thread.
  virtual absl::Time SteadyNow() {
    return absl::UnixEpoch() + absl::FromChrono(std::chrono::steady_clock::now().time_since_epoch());
  }
  // Where the random choices of a channel begin: the jitter of its back-off, its balancing.
  virtual uint64_t RandomSeed() {
    std::random_device random;
    return uint64_t{random()} << 32 | random();
  }
};

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_NETWORK_H_
