#include "benchmarks/rpc_bench/blocking_stream_load.h"

#include <semaphore.h>

#include <atomic>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "benchmarks/rpc_bench/bench.verbena.h"
#include "rpc/client_context.h"

namespace verbena::benchmarks {
namespace {

using Clock = Measurement::Clock;
using Stream = ClientReaderWriter<Bytes, Bytes>;

Bytes MessageOf(size_t payload_bytes) {
  Bytes message;
  message.set_payload(std::string(payload_bytes, 'v'));
  return message;
}

// What the writer has started and the reader has not seen come back.
class OnTheirWay {
 public:
  explicit OnTheirWay(size_t max) : starts_(max) { sem_init(&room_, /*pshared=*/0, static_cast<unsigned>(max)); }
  ~OnTheirWay() { sem_destroy(&room_); }
  OnTheirWay(const OnTheirWay&) = delete;
  OnTheirWay& operator=(const OnTheirWay&) = delete;

  // The writer's. Blocks while there are as many as may be.
  void Add() {
    while (sem_wait(&room_) != 0) {  // A signal handler ran.
    }
    starts_[added_++ % starts_.size()] = Clock::now().time_since_epoch().count();
  }
  // The reader's. When the oldest was started.
  Clock::time_point Take() {
    const Clock::rep start = starts_[taken_++ % starts_.size()];
    sem_post(&room_);
    return Clock::time_point(Clock::duration(start));
  }

 private:
  sem_t room_;
  std::vector<std::atomic<Clock::rep>> starts_;
  size_t added_ = 0;  // The writer's.
  size_t taken_ = 0;  // The reader's.
};

void RunInTurn(Stream& stream, Bytes& message, Measurement& measurement) {
  Clock::time_point now = Clock::now();
  while (!measurement.over()) {
    const Clock::time_point start = now;
    if (!stream.Write(message).ok() || !stream.Read(&message)) break;
    now = Clock::now();
    measurement.OnDone(start, now);
  }
  stream.WritesDone();
}

void RunWithAWriter(Stream& stream, Bytes& message, size_t in_flight, Measurement& measurement) {
  OnTheirWay on_their_way(in_flight);
  std::atomic<bool> over = false;
  std::thread writer([&] {
    do on_their_way.Add();
    while (!over && stream.Write(message).ok());
    stream.WritesDone();
  });
  Bytes reply;
  while (stream.Read(&reply)) {
    measurement.OnDone(on_their_way.Take(), Clock::now());
    if (measurement.over()) over = true;
  }
  over = true;
  on_their_way.Take();  // Of a stream that failed: the writer is not to wait for more.
  writer.join();
}

}  // namespace

absl::StatusOr<CallFigures> RunBlockingStream(std::shared_ptr<Channel> channel, size_t payload_bytes, size_t in_flight,
                                              const Span& span) {
  Bench::Stub stub(std::move(channel));
  ClientContext context;
  Bytes message = MessageOf(payload_bytes);
  Measurement measurement(span);
  const auto stream = stub.EchoStream(&context);
  measurement.Begin(Clock::now());
  if (in_flight == 1) {
    RunInTurn(*stream, message, measurement);
  } else {
    RunWithAWriter(*stream, message, in_flight, measurement);
  }
  if (absl::Status status = stream->Finish(); !status.ok()) return status;
  return measurement.Figures();
}

}  // namespace verbena::benchmarks
