// Messages over one bidirectional stream whose server sends each of them back: so many on their way at a time, each
// followed by another when it has returned.

#ifndef VERBENA_BENCHMARKS_RPC_BENCH_STREAM_LOAD_H_
#define VERBENA_BENCHMARKS_RPC_BENCH_STREAM_LOAD_H_

#include <cstddef>
#include <memory>
#include <queue>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/notification.h"
#include "benchmarks/rpc_bench/bench.verbena.h"
#include "benchmarks/rpc_bench/measurement.h"
#include "benchmarks/rpc_bench/report.h"
#include "rpc/channel.h"
#include "rpc/client_context.h"
#include "rpc/reactors.h"

namespace verbena::benchmarks {

// Owner: who measures. Thread: reactions on the channel's loop, which has a thread of its own.
class StreamLoad final : public ClientBidiReactor<Bytes, Bytes> {
 public:
  StreamLoad(std::shared_ptr<Channel> channel, size_t payload_bytes, size_t in_flight, const Span& span);

  // Blocks until the stream has ended. The figures are of messages, there and back; the stream's error. Once.
  absl::StatusOr<CallFigures> Run();

 private:
  using Clock = Measurement::Clock;

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnDone(const absl::Status& status) override;
  void WriteIfRoom(Clock::time_point now);

  // Constant while the load runs.
  const size_t in_flight_max_;
  Bench::Stub stub_;
  ClientContext context_;
  Bytes request_;

  // The loop's.
  Bytes reply_;
  std::queue<Clock::time_point> starts_;  // Of the messages on their way, oldest first.
  bool writing_ = false;
  Measurement measurement_;
  absl::Status status_;

  absl::Notification ended_;
};

}  // namespace verbena::benchmarks

#endif  // VERBENA_BENCHMARKS_RPC_BENCH_STREAM_LOAD_H_
