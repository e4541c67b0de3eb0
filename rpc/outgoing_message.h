// A message that was written to a stream.
//
// Owner: its MessageStream, which uses it again for another. Thread: the loop's.

#ifndef VERBENA_RPC_OUTGOING_MESSAGE_H_
#define VERBENA_RPC_OUTGOING_MESSAGE_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>

#include "rpc/message_stream.h"
#include "rpc/protobuf_bytes.h"
#include "transport/connection.h"

namespace verbena::rpc {

// The transport's source until it is sent, the user's until it is serialized.
class MessageStream::Outgoing : public transport::PayloadSource {
 public:
  explicit Outgoing(MessageStream* stream) : stream_(*stream) {}

  // `attachment_bytes` travel beside it.
  void Begin(PendingWrite&& write, size_t attachment_bytes) {
    bytes_ = write.body != nullptr ? write.body->size() : write.message->ByteSizeLong();
    attachment_bytes_ = attachment_bytes;
    on_loop_ = write.on_loop;
    write_ = std::move(write);
    in_use_ = true;
  }
  size_t size() const override { return bytes_; }
  void WriteTo(std::byte* to) override {
    if (!write_.has_value()) {  // Withdrawn: what the transport asks for now is sent to nobody.
      std::memset(to, 0, bytes_);
      return;
    }
    if (write_->body == nullptr) {
      WriteMeasured(*write_->message, to);
    } else if (bytes_ > 0) {
      std::memcpy(to, write_->body->data(), bytes_);
    }
    stream_.OnSerialized(*this);
  }
  void OnWritten() override { stream_.OnWritten(*this); }

  // The user's part. No: he has it already.
  bool has_write() const { return write_.has_value(); }
  Done&& TakeDone() { return std::move(write_->done); }
  void ForgetWrite() { write_.reset(); }
  void Free() { in_use_ = false; }
  bool in_use() const { return in_use_; }
  bool on_loop() const { return on_loop_; }
  size_t bytes_in_all() const { return bytes_ + attachment_bytes_; }
  void set_send_id(uint64_t send_id) { send_id_ = send_id; }
  uint64_t send_id() const { return send_id_; }

 private:
  MessageStream& stream_;
  std::optional<PendingWrite> write_;
  size_t bytes_ = 0;
  size_t attachment_bytes_ = 0;
  uint64_t send_id_ = 0;
  bool on_loop_ = false;
  bool in_use_ = false;
};

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_OUTGOING_MESSAGE_H_
