// The client's end of a round: a channel whose connections are made.

#ifndef VERBENA_BENCHMARKS_RPC_BENCH_BENCH_CLIENT_H_
#define VERBENA_BENCHMARKS_RPC_BENCH_BENCH_CLIENT_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "benchmarks/rpc_bench/rounds.h"
#include "rpc/channel.h"
#include "rpc/options.h"

namespace verbena::benchmarks {

struct BenchClient {
  // The channel's loop has a thread of its own, on the client's core.
  static absl::StatusOr<BenchClient> Connect(const BenchSettings& settings, const std::string& address);
  // The loop is the calling thread's to drive, and waits as `wait` says.
  static absl::StatusOr<BenchClient> ConnectDriven(const BenchSettings& settings, const std::string& address,
                                                   WaitPolicy wait);

  std::unique_ptr<EventLoop> loop;  // Null: it has a thread of its own. Goes after the channel.
  std::shared_ptr<Channel> channel;
};

}  // namespace verbena::benchmarks

#endif  // VERBENA_BENCHMARKS_RPC_BENCH_BENCH_CLIENT_H_
