#include "rpc/stream_reactor.h"

#include <utility>

#include "base/run_catching.h"
#include "rpc/message_stream.h"
#include "transport/run_logging.h"

namespace verbena::rpc {

using google::protobuf::MessageLite;

StreamReactor::StreamReactor() = default;
StreamReactor::~StreamReactor() = default;

// Null: not yet, and `note` was called with the lock.
template <typename Note>
MessageStream* StreamReactor::BoundOr(Note note) {
  if (MessageStream* const stream = bound_.load(std::memory_order_acquire)) return stream;
  const std::lock_guard lock(mu_);
  if (stream_ == nullptr) note();
  return stream_.get();
}

void StreamReactor::StartReadMessage(MessageLite* into, absl::Cord* attachment) {
  const Reading read = {into, attachment};
  HoldForOperation();
  if (MessageStream* const stream = BoundOr([&] { read_ = read; })) ReadNow(*stream, read);
}

void StreamReactor::StartWriteMessage(const MessageLite* message, absl::Cord attachment) {
  Writing write = {message, std::move(attachment)};
  HoldForOperation();
  if (MessageStream* const stream = BoundOr([&] { write_ = std::move(write); })) WriteNow(*stream, std::move(write));
}

void StreamReactor::EndWrites() {
  if (MessageStream* const stream = BoundOr([this] { writes_ended_ = true; })) stream->EndWrites();
}

void StreamReactor::BindStream(std::shared_ptr<MessageStream> stream) {
  const std::lock_guard lock(mu_);  // What another thread starts comes behind. No reaction runs in here.
  if (read_.into != nullptr) ReadNow(*stream, read_);
  if (write_.message != nullptr) WriteNow(*stream, std::move(write_));
  if (writes_ended_) stream->EndWrites();
  stream_ = std::move(stream);
  bound_.store(stream_.get(), std::memory_order_release);
}

void StreamReactor::ReadNow(MessageStream& stream, const Reading& read) {
  stream.Read(read.into, read.attachment, [this](absl::Status status) { React([&] { OnReadDone(status.ok()); }); });
}

void StreamReactor::WriteNow(MessageStream& stream, Writing write) {
  stream.Write(write.message, std::move(write.attachment),
               [this](absl::Status status) { React([&] { OnWriteDone(status.ok()); }); });
}

void StreamReactor::EndForThrown() { OnThrown(StatusOfThrown("the reaction")); }

void StreamReactor::Release() {
  if (to_come_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  RunLogging("the last reaction", [this] { OnAllDone(); });
}

}  // namespace verbena::rpc
