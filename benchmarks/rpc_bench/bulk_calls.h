// Calls with a large attachment, one after the other, for others to be measured beside.

#ifndef VERBENA_BENCHMARKS_RPC_BENCH_BULK_CALLS_H_
#define VERBENA_BENCHMARKS_RPC_BENCH_BULK_CALLS_H_

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/synchronization/notification.h"
#include "benchmarks/rpc_bench/bench.verbena.h"
#include "benchmarks/rpc_bench/echo_call.h"
#include "rpc/channel.h"

namespace verbena::benchmarks {

// Owner: who measures. Thread: the owner's, not a loop's. The channel's loop has a thread of its own.
class BulkCalls {
 public:
  // Attached to the requests, or, as the server was told too, to the responses.
  BulkCalls(std::shared_ptr<Channel> channel, size_t attachment_bytes, bool in_response)
      : attachment_bytes_(attachment_bytes), in_response_(in_response), stub_(std::move(channel)) {}
  BulkCalls(const BulkCalls&) = delete;
  BulkCalls& operator=(const BulkCalls&) = delete;

  // Waits for the first calls, by which both ends have their memory; the next is under way then, and each is followed
  // by another until Stop. ResourceExhausted: no memory. The error of one of them. Once.
  absl::Status Start();
  // Waits for the call that is under way. The error of one that failed, which was the last then. After Start.
  absl::Status Stop();
  // What was fetched since Start.
  double gbytes_per_second() const;

 private:
  using Clock = std::chrono::steady_clock;

  void StartCall();
  void OnDone(absl::Status status);

  const size_t attachment_bytes_;
  const bool in_response_;
  Bench::Stub stub_;
  std::unique_ptr<EchoCall> call_;
  std::atomic<bool> stopping_ = false;

  // The loop's until the first notification.
  int warm_ups_ = 0;  // Calls done.
  Clock::time_point start_;
  absl::Status first_;
  absl::Notification warm_;

  // The loop's until the second.
  uint64_t done_ = 0;
  Clock::time_point end_;
  absl::Status failure_;

  absl::Notification ended_;
};

}  // namespace verbena::benchmarks

#endif  // VERBENA_BENCHMARKS_RPC_BENCH_BULK_CALLS_H_
