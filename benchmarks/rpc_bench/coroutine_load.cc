#include "benchmarks/rpc_bench/coroutine_load.h"

#include <optional>
#include <queue>
#include <string>
#include <utility>
#include <vector>

#include "benchmarks/rpc_bench/bench.verbena.h"
#include "rpc/client_context.h"
#include "rpc/coroutine/block_on.h"
#include "rpc/coroutine/event.h"
#include "rpc/coroutine/task.h"
#include "rpc/coroutine/when_all.h"

namespace verbena::benchmarks {
namespace {

using Clock = Measurement::Clock;

Task<absl::Status> CallUntilOver(Bench::Stub& stub, EchoCall& call, Measurement& measurement) {
  Clock::time_point now = Clock::now();
  while (!measurement.over()) {
    call.Renew(now);
    absl::Status status = co_await stub.co()->Echo(&call.context, call.request, &call.reply);
    if (!status.ok()) co_return status;
    now = Clock::now();
    measurement.OnDone(call.start, now);
  }
  co_return absl::OkStatus();
}

// One stream's coroutines: one writes while there is room, one reads.
class EchoedStream {
 public:
  EchoedStream(EventLoop* loop, Bench::Stub& stub, const Bytes* message, size_t in_flight, Measurement* measurement)
      : loop_(*loop),
        message_(*message),
        in_flight_max_(in_flight),
        measurement_(*measurement),
        stream_(stub.co()->EchoStream(&context_)) {}

  Task<absl::Status> Run() {
    co_await WhenAll(Write(), Read());
    co_return co_await stream_->Finish();
  }

 private:
  Task<> Write() {
    while (!measurement_.over()) {
      if (starts_.size() == in_flight_max_) {
        room_.emplace(loop_);
        co_await room_->Wait();
        continue;
      }
      starts_.push(Clock::now());
      const absl::Status written = co_await stream_->Write(message_);
      if (!written.ok()) break;
    }
    stream_->WritesDone();
  }

  Task<> Read() {
    Bytes reply;
    while (co_await stream_->Read(&reply)) {
      measurement_.OnDone(starts_.front(), Clock::now());
      starts_.pop();
      if (room_.has_value()) room_->Set();
    }
    measurement_.GiveUp();  // The stream's end, or its failure.
    if (room_.has_value()) room_->Set();
  }

  EventLoop& loop_;
  const Bytes& message_;
  const size_t in_flight_max_;
  Measurement& measurement_;
  ClientContext context_;
  const std::unique_ptr<CoClientReaderWriter<Bytes, Bytes>> stream_;
  std::queue<Clock::time_point> starts_;  // Of the messages on their way, oldest first.
  std::optional<OneShotEvent> room_;      // The writer waits for it, or has.
};

Task<absl::Status> All(std::vector<Task<absl::Status>> callers) {
  absl::Status failure;
  const std::vector<absl::Status> statuses = co_await WhenAll(std::move(callers));
  for (const absl::Status& status : statuses) failure.Update(status);
  co_return failure;
}

}  // namespace

absl::StatusOr<CallFigures> RunCoroutineCalls(EventLoop& loop, std::shared_ptr<Channel> channel, const EchoShape& shape,
                                              size_t coroutines, const Span& span) {
  absl::StatusOr<std::vector<std::unique_ptr<EchoCall>>> calls = EchoCall::CreateMany(shape, coroutines);
  if (!calls.ok()) return calls.status();
  Bench::Stub stub(std::move(channel));
  Measurement measurement(span);
  measurement.Begin(Clock::now());
  std::vector<Task<absl::Status>> callers;
  for (const std::unique_ptr<EchoCall>& call : *calls) callers.push_back(CallUntilOver(stub, *call, measurement));
  if (absl::Status status = BlockOn(loop, All(std::move(callers))); !status.ok()) return status;
  return measurement.Figures();
}

absl::StatusOr<CallFigures> RunCoroutineStream(EventLoop& loop, std::shared_ptr<Channel> channel, size_t payload_bytes,
                                               size_t in_flight, const Span& span) {
  Bench::Stub stub(std::move(channel));
  Bytes message;
  message.set_payload(std::string(payload_bytes, 'v'));
  Measurement measurement(span);
  measurement.Begin(Clock::now());
  EchoedStream echoed(&loop, stub, &message, in_flight, &measurement);
  if (absl::Status status = BlockOn(loop, echoed.Run()); !status.ok()) return status;
  return measurement.Figures();
}

}  // namespace verbena::benchmarks
