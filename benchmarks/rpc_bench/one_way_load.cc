#include "benchmarks/rpc_bench/one_way_load.h"

#include <cstdint>
#include <string>
#include <utility>

#include "absl/synchronization/notification.h"
#include "benchmarks/rpc_bench/attachment_ring.h"
#include "benchmarks/rpc_bench/bench.verbena.h"
#include "benchmarks/yardstick/load.h"
#include "rpc/client_context.h"
#include "rpc/coroutine/block_on.h"
#include "rpc/coroutine/task.h"
#include "rpc/reactors.h"

namespace verbena::benchmarks {
namespace {

using Clock = Measurement::Clock;

absl::StatusOr<AttachmentRing> AttachmentsOf(const OneWayShape& shape) {
  return AttachmentRing::Create(shape.sender == Sender::kClient ? shape.attachment_bytes : 0);
}

// What all six have.
struct OneWayStream {
  OneWayStream(std::shared_ptr<Channel> channel, const OneWayShape& shape, AttachmentRing attachments, const Span& span)
      : look_after(MessagesForEachLook(shape.payload_bytes + shape.attachment_bytes)),
        stub(std::move(channel)),
        attachments(std::move(attachments)),
        measurement(span) {
    message.set_payload(std::string(shape.payload_bytes, 'v'));
    measurement.Begin(Clock::now());
  }

  // A message was written or read. Whether the span goes on.
  bool OnPassed() {
    if (++passed == look_after) measurement.OnManyDone(std::exchange(passed, 0), Clock::now());
    return !measurement.over();
  }
  // The server sends until the client has gone, so that its stream ends as it should if it was cancelled when the span
  // was over.
  absl::StatusOr<CallFigures> FiguresOr(const absl::Status& end) const {
    if (!end.ok() && !(cancelled && absl::IsCancelled(end))) return end;
    if (!measurement.over()) return absl::InternalError("the stream ended before it was to");
    return measurement.Figures();
  }
  void Cancel() {
    cancelled = true;
    context.TryCancel();
  }

  const uint64_t look_after;  // So many messages.
  Bench::Stub stub;
  ClientContext context;
  Bytes message;  // That is written, or asked for.
  AttachmentRing attachments;
  Bytes reply;
  absl::Cord reply_attachment;
  Measurement measurement;
  uint64_t passed = 0;  // Since the clock was read.
  bool cancelled = false;
};

// One of either kind.
template <typename Reactor>
class WaitedFor : public Reactor {
 protected:
  absl::Status WaitForEnd() {
    ended_.WaitForNotification();
    return status_;
  }

 private:
  void OnDone(const absl::Status& status) final {
    status_ = status;
    ended_.Notify();
  }

  absl::Status status_;
  absl::Notification ended_;
};

class WritingReactor final : public WaitedFor<ClientWriteReactor<Bytes>> {
 public:
  explicit WritingReactor(OneWayStream* stream) : stream_(*stream) {}

  absl::Status Run() {
    stream_.stub.async()->StreamFromClient(&stream_.context, &stream_.reply, this);
    Write();
    StartCall();
    return WaitForEnd();
  }

 private:
  void OnWriteDone(bool ok) override {
    if (!ok) return;  // OnDone follows.
    stream_.OnPassed() ? Write() : StartWritesDone();
  }
  void Write() { StartWrite(&stream_.message, stream_.attachments.Next()); }

  OneWayStream& stream_;
};

class ReadingReactor final : public WaitedFor<ClientReadReactor<Bytes>> {
 public:
  explicit ReadingReactor(OneWayStream* stream) : stream_(*stream) {}

  absl::Status Run() {
    stream_.stub.async()->StreamFromServer(&stream_.context, &stream_.message, this);
    Read();
    StartCall();
    return WaitForEnd();
  }

 private:
  void OnReadDone(bool ok) override {
    if (!ok) return;  // OnDone follows.
    stream_.OnPassed() ? Read() : stream_.Cancel();
  }
  void Read() { StartRead(&stream_.reply, &stream_.reply_attachment); }

  OneWayStream& stream_;
};

Task<absl::Status> Write(OneWayStream& stream) {
  const auto writer = stream.stub.co()->StreamFromClient(&stream.context, &stream.reply);
  absl::Status written;
  do written = co_await writer->Write(stream.message, stream.attachments.Next());
  while (written.ok() && stream.OnPassed());
  co_return co_await writer->Finish();
}

Task<absl::Status> Read(OneWayStream& stream) {
  const auto reader = stream.stub.co()->StreamFromServer(&stream.context, stream.message);
  while (co_await reader->Read(&stream.reply, &stream.reply_attachment)) {
    if (!stream.OnPassed()) stream.Cancel();
  }
  co_return co_await reader->Finish();
}

}  // namespace

absl::StatusOr<CallFigures> RunOneWayReactor(std::shared_ptr<Channel> channel, const OneWayShape& shape,
                                             const Span& span) {
  absl::StatusOr<AttachmentRing> attachments = AttachmentsOf(shape);
  if (!attachments.ok()) return attachments.status();
  OneWayStream stream(std::move(channel), shape, *std::move(attachments), span);
  const absl::Status end =
      shape.sender == Sender::kClient ? WritingReactor(&stream).Run() : ReadingReactor(&stream).Run();
  return stream.FiguresOr(end);
}

absl::StatusOr<CallFigures> RunBlockingOneWay(std::shared_ptr<Channel> channel, const OneWayShape& shape,
                                              const Span& span) {
  absl::StatusOr<AttachmentRing> attachments = AttachmentsOf(shape);
  if (!attachments.ok()) return attachments.status();
  OneWayStream stream(std::move(channel), shape, *std::move(attachments), span);
  if (shape.sender == Sender::kClient) {
    const auto writer = stream.stub.StreamFromClient(&stream.context, &stream.reply);
    while (writer->Write(stream.message, stream.attachments.Next()).ok() && stream.OnPassed()) {
    }
    return stream.FiguresOr(writer->Finish());
  }
  const auto reader = stream.stub.StreamFromServer(&stream.context, stream.message);
  while (reader->Read(&stream.reply, &stream.reply_attachment)) {
    if (!stream.OnPassed()) stream.Cancel();
  }
  return stream.FiguresOr(reader->Finish());
}

absl::StatusOr<CallFigures> RunCoroutineOneWay(EventLoop& loop, std::shared_ptr<Channel> channel,
                                               const OneWayShape& shape, const Span& span) {
  absl::StatusOr<AttachmentRing> attachments = AttachmentsOf(shape);
  if (!attachments.ok()) return attachments.status();
  OneWayStream stream(std::move(channel), shape, *std::move(attachments), span);
  return stream.FiguresOr(BlockOn(loop, shape.sender == Sender::kClient ? Write(stream) : Read(stream)));
}

}  // namespace verbena::benchmarks
