#include "rpc/blocking/read_ahead.h"
#include "rpc/blocking/write_behind.h"
#include "rpc/blocking_stream.h"
#include "rpc/message_stream.h"

namespace verbena::rpc {

BlockingServerStream::BlockingServerStream(const std::shared_ptr<MessageStream>& stream)
    : reads_(std::make_shared<ReadAhead>(stream)), writes_(std::make_shared<WriteBehind>(stream)) {}

BlockingServerStream::~BlockingServerStream() { writes_->Flush(); }

bool BlockingServerStream::Read(google::protobuf::MessageLite* message, absl::Cord* attachment) {
  return reads_->Read(message, attachment);
}

absl::Status BlockingServerStream::Write(const google::protobuf::MessageLite& message, absl::Cord attachment) {
  return writes_->Write(message, std::move(attachment));
}

}  // namespace verbena::rpc
