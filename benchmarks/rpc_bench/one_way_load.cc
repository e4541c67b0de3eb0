#include "benchmarks/rpc_bench/one_way_load.h"

#include <cstdint>
#include <string>
#include <utility>

#include "absl/synchronization/notification.h"
#include "benchmarks/rpc_bench/bench.verbena.h"
#include "rpc/client_context.h"
#include "rpc/coroutine/block_on.h"
#include "rpc/coroutine/task.h"
#include "rpc/reactors.h"

namespace verbena::benchmarks {
namespace {

using Clock = Measurement::Clock;

constexpr uint64_t kPassedForEachLook = 64;  // At the clock, which takes as long as a tenth of a small message.

// What all six have.
struct OneWayStream {
  OneWayStream(std::shared_ptr<Channel> channel, size_t payload_bytes, const Span& span)
      : stub(std::move(channel)), measurement(span) {
    message.set_payload(std::string(payload_bytes, 'v'));
    measurement.Begin(Clock::now());
  }

  // A message was written or read. Whether the span goes on.
  bool OnPassed() {
    if (++passed == kPassedForEachLook) measurement.OnManyDone(std::exchange(passed, 0), Clock::now());
    return !measurement.over();
  }
  // The server sends until the client has gone, so that its stream ends as it should if it was cancelled when the span
  // was over.
  absl::StatusOr<CallFigures> FiguresOr(const absl::Status& end) const {
    if (!end.ok() && !(cancelled && absl::IsCancelled(end))) return end;
    return measurement.Figures();
  }
  void Cancel() {
    cancelled = true;
    context.TryCancel();
  }

  Bench::Stub stub;
  ClientContext context;
  Bytes message;  // That is written; asked for; read.
  Bytes reply;
  Measurement measurement;
  uint64_t passed = 0;  // Since the clock was read.
  bool cancelled = false;
};

class WritingReactor final : public ClientWriteReactor<Bytes> {
 public:
  explicit WritingReactor(OneWayStream* stream) : stream_(*stream) {}

  absl::Status Run() {
    stream_.stub.async()->StreamFromClient(&stream_.context, &stream_.reply, this);
    StartWrite(&stream_.message);
    StartCall();
    ended_.WaitForNotification();
    return status_;
  }

 private:
  void OnWriteDone(bool ok) override {
    if (!ok) return;  // OnDone follows.
    stream_.OnPassed() ? StartWrite(&stream_.message) : StartWritesDone();
  }
  void OnDone(const absl::Status& status) override {
    status_ = status;
    ended_.Notify();
  }

  OneWayStream& stream_;
  absl::Status status_;
  absl::Notification ended_;
};

class ReadingReactor final : public ClientReadReactor<Bytes> {
 public:
  explicit ReadingReactor(OneWayStream* stream) : stream_(*stream) {}

  absl::Status Run() {
    stream_.stub.async()->StreamFromServer(&stream_.context, &stream_.message, this);
    StartRead(&reply_);
    StartCall();
    ended_.WaitForNotification();
    return status_;
  }

 private:
  void OnReadDone(bool ok) override {
    if (!ok) return;  // OnDone follows.
    stream_.OnPassed() ? StartRead(&reply_) : stream_.Cancel();
  }
  void OnDone(const absl::Status& status) override {
    status_ = status;
    ended_.Notify();
  }

  OneWayStream& stream_;
  Bytes reply_;
  absl::Status status_;
  absl::Notification ended_;
};

Task<absl::Status> Write(OneWayStream& stream) {
  const auto writer = stream.stub.co()->StreamFromClient(&stream.context, &stream.reply);
  while (stream.OnPassed()) {
    const absl::Status written = co_await writer->Write(stream.message);
    if (!written.ok()) break;  // The end says why.
  }
  co_return co_await writer->Finish();
}

Task<absl::Status> Read(OneWayStream& stream) {
  const auto reader = stream.stub.co()->StreamFromServer(&stream.context, stream.message);
  while (co_await reader->Read(&stream.reply)) {
    if (!stream.OnPassed()) stream.Cancel();
  }
  co_return co_await reader->Finish();
}

}  // namespace

absl::StatusOr<CallFigures> RunOneWayReactor(std::shared_ptr<Channel> channel, const OneWayShape& shape,
                                             const Span& span) {
  OneWayStream stream(std::move(channel), shape.payload_bytes, span);
  const absl::Status end =
      shape.sender == Sender::kClient ? WritingReactor(&stream).Run() : ReadingReactor(&stream).Run();
  return stream.FiguresOr(end);
}

absl::StatusOr<CallFigures> RunBlockingOneWay(std::shared_ptr<Channel> channel, const OneWayShape& shape,
                                              const Span& span) {
  OneWayStream stream(std::move(channel), shape.payload_bytes, span);
  if (shape.sender == Sender::kClient) {
    const auto writer = stream.stub.StreamFromClient(&stream.context, &stream.reply);
    while (stream.OnPassed() && writer->Write(stream.message).ok()) {
    }
    return stream.FiguresOr(writer->Finish());
  }
  const auto reader = stream.stub.StreamFromServer(&stream.context, stream.message);
  while (reader->Read(&stream.reply)) {
    if (!stream.OnPassed()) stream.Cancel();
  }
  return stream.FiguresOr(reader->Finish());
}

absl::StatusOr<CallFigures> RunCoroutineOneWay(EventLoop& loop, std::shared_ptr<Channel> channel,
                                               const OneWayShape& shape, const Span& span) {
  OneWayStream stream(std::move(channel), shape.payload_bytes, span);
  return stream.FiguresOr(BlockOn(loop, shape.sender == Sender::kClient ? Write(stream) : Read(stream)));
}

}  // namespace verbena::benchmarks
