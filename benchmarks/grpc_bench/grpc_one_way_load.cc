#include "benchmarks/grpc_bench/grpc_one_way_load.h"

#include <cstdint>
#include <string>
#include <utility>

#include "absl/synchronization/notification.h"
#include "benchmarks/grpc_bench/grpc_status.h"

namespace verbena::benchmarks {
namespace {

using Clock = LoadWindow::Clock;

// What all four have.
struct OneWayStream {
  OneWayStream(std::shared_ptr<grpc::Channel> channel, const LoadShape& shape)
      : shape(shape), stub(Bench::NewStub(std::move(channel))), window(shape, Clock::now()) {
    message.set_payload(std::string(shape.payload_bytes, 'v'));
  }

  // A message was written or read. Whether the window goes on.
  bool OnPassed() {
    if (++passed == look_after) {
      const Clock::time_point now = Clock::now();
      window.Count(std::exchange(last, now), now, &latencies, std::exchange(passed, 0));
      over = window.IsOver(now);
    }
    return !over;
  }
  // The server sends until the client has gone.
  void Cancel() {
    cancelled = true;
    context.TryCancel();
  }
  absl::StatusOr<LoadFigures> FiguresOr(const grpc::Status& end) {
    if (!end.ok() && !(cancelled && end.error_code() == grpc::StatusCode::CANCELLED)) {
      return StatusOf(end);
    }
    if (!over) return absl::InternalError("the stream ended before it was to");
    return LoadFigures(std::move(latencies), shape);
  }

  const LoadShape shape;
  const std::unique_ptr<Bench::Stub> stub;
  const LoadWindow window;
  grpc::ClientContext context;
  Bytes message;  // That is written; asked for.
  Bytes reply;
  const uint64_t look_after = MessagesForEachLook(shape.payload_bytes);
  uint64_t passed = 0;  // Since the clock was read.
  Clock::time_point last = Clock::now();
  bool over = false;
  LatencyHistogram latencies;
  bool cancelled = false;
};

// One of either kind.
template <typename Reactor>
class WaitedFor : public Reactor {
 protected:
  grpc::Status WaitForEnd() {
    ended_.WaitForNotification();
    return status_;
  }

 private:
  void OnDone(const grpc::Status& status) final {
    status_ = status;
    ended_.Notify();
  }

  grpc::Status status_;
  absl::Notification ended_;
};

class WritingReactor final : public WaitedFor<grpc::ClientWriteReactor<Bytes>> {
 public:
  explicit WritingReactor(OneWayStream* stream) : stream_(*stream) {}

  grpc::Status Run() {
    stream_.stub->async()->StreamFromClient(&stream_.context, &stream_.reply, this);
    StartWrite(&stream_.message);
    StartCall();
    return WaitForEnd();
  }

 private:
  void OnWriteDone(bool ok) override {
    if (!ok) return;  // OnDone follows.
    stream_.OnPassed() ? StartWrite(&stream_.message) : StartWritesDone();
  }

  OneWayStream& stream_;
};

class ReadingReactor final : public WaitedFor<grpc::ClientReadReactor<Bytes>> {
 public:
  explicit ReadingReactor(OneWayStream* stream) : stream_(*stream) {}

  grpc::Status Run() {
    stream_.stub->async()->StreamFromServer(&stream_.context, &stream_.message, this);
    StartRead(&stream_.reply);
    StartCall();
    return WaitForEnd();
  }

 private:
  void OnReadDone(bool ok) override {
    if (!ok) return;  // OnDone follows.
    if (!stream_.OnPassed()) stream_.Cancel();
    StartRead(&stream_.reply);
  }

  OneWayStream& stream_;
};

}  // namespace

absl::StatusOr<LoadFigures> RunGrpcWriter(std::shared_ptr<grpc::Channel> channel, const LoadShape& shape) {
  OneWayStream stream(std::move(channel), shape);
  return stream.FiguresOr(WritingReactor(&stream).Run());
}

absl::StatusOr<LoadFigures> RunGrpcReader(std::shared_ptr<grpc::Channel> channel, const LoadShape& shape) {
  OneWayStream stream(std::move(channel), shape);
  return stream.FiguresOr(ReadingReactor(&stream).Run());
}

absl::StatusOr<LoadFigures> RunGrpcBlockingWriter(std::shared_ptr<grpc::Channel> channel, const LoadShape& shape) {
  OneWayStream stream(std::move(channel), shape);
  const auto writer = stream.stub->StreamFromClient(&stream.context, &stream.reply);
  while (writer->Write(stream.message) && stream.OnPassed()) {
  }
  writer->WritesDone();
  return stream.FiguresOr(writer->Finish());
}

absl::StatusOr<LoadFigures> RunGrpcBlockingReader(std::shared_ptr<grpc::Channel> channel, const LoadShape& shape) {
  OneWayStream stream(std::move(channel), shape);
  const auto reader = stream.stub->StreamFromServer(&stream.context, stream.message);
  while (reader->Read(&stream.reply)) {
    if (!stream.OnPassed()) stream.Cancel();
  }
  return stream.FiguresOr(reader->Finish());
}

}  // namespace verbena::benchmarks
