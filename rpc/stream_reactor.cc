#include "rpc/stream_reactor.h"

#include <utility>

#include "rpc/message_stream.h"

namespace verbena::rpc {

using google::protobuf::MessageLite;

StreamReactor::StreamReactor() = default;
StreamReactor::~StreamReactor() = default;

void StreamReactor::StartReadMessage(MessageLite* into, absl::Cord* attachment) {
  const Reading read = {into, attachment};
  Hold();
  std::shared_ptr<MessageStream> stream;
  {
    const std::lock_guard lock(mu_);
    stream = stream_;
    if (stream == nullptr) read_ = read;
  }
  if (stream != nullptr) ReadNow(*stream, read);
}

void StreamReactor::StartWriteMessage(const MessageLite* message, absl::Cord attachment) {
  Writing write = {message, std::move(attachment)};
  Hold();
  std::shared_ptr<MessageStream> stream;
  {
    const std::lock_guard lock(mu_);
    stream = stream_;
    if (stream == nullptr) write_ = std::move(write);
  }
  if (stream != nullptr) WriteNow(*stream, std::move(write));
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
  if (read_.into != nullptr) ReadNow(*stream, read_);
  if (write_.message != nullptr) WriteNow(*stream, std::move(write_));
  if (writes_ended_) stream->EndWrites();
  stream_ = std::move(stream);
}

void StreamReactor::ReadNow(MessageStream& stream, const Reading& read) {
  stream.Read(read.into, read.attachment, [this](absl::Status status) {
    OnReadDone(status.ok());
    Release();
  });
}

void StreamReactor::WriteNow(MessageStream& stream, Writing write) {
  stream.Write(write.message, std::move(write.attachment), [this](absl::Status status) {
    OnWriteDone(status.ok());
    Release();
  });
}

void StreamReactor::Release() {
  if (to_come_.fetch_sub(1, std::memory_order_acq_rel) == 1) OnAllDone();
}

}  // namespace verbena::rpc
