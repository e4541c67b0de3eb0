#include "rpc/stream_reactor.h"

#include <utility>

#include "rpc/message_stream.h"

namespace verbena::rpc {

using google::protobuf::MessageLite;

StreamReactor::StreamReactor() = default;
StreamReactor::~StreamReactor() = default;

void StreamReactor::StartReadMessage(MessageLite* into) {
  Hold();
  std::shared_ptr<MessageStream> stream;
  {
    const std::lock_guard lock(mu_);
    stream = stream_;
    if (stream == nullptr) read_ = into;
  }
  if (stream != nullptr) ReadNow(*stream, into);
}

void StreamReactor::StartWriteMessage(const MessageLite* message) {
  Hold();
  std::shared_ptr<MessageStream> stream;
  {
    const std::lock_guard lock(mu_);
    stream = stream_;
    if (stream == nullptr) write_ = message;
  }
  if (stream != nullptr) WriteNow(*stream, message);
}

void StreamReactor::EndWrites() {
  std::shared_ptr<MessageStream> stream;
  {
    const std::lock_guard lock(mu_);
    stream = stream_;
    writes_ended_ = true;
  }
  if (stream != nullptr) stream->EndWrites();
}

void StreamReactor::BindStream(std::shared_ptr<MessageStream> stream) {
  const std::lock_guard lock(mu_);  // What another thread starts comes behind. No reaction runs in here.
  if (read_ != nullptr) ReadNow(*stream, read_);
  if (write_ != nullptr) WriteNow(*stream, write_);
  if (writes_ended_) stream->EndWrites();
  stream_ = std::move(stream);
}

void StreamReactor::ReadNow(MessageStream& stream, MessageLite* into) {
  stream.Read(into, [this](absl::Status status) {
    OnReadDone(status.ok());
    Release();
  });
}

void StreamReactor::WriteNow(MessageStream& stream, const MessageLite* message) {
  stream.Write(message, [this](absl::Status status) {
    OnWriteDone(status.ok());
    Release();
  });
}

void StreamReactor::Release() {
  if (to_come_.fetch_sub(1, std::memory_order_acq_rel) == 1) OnAllDone();
}

}  // namespace verbena::rpc
