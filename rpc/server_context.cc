#include "rpc/server_context.h"

#include "rpc/attachment/arriving_attachment.h"
#include "rpc/message_stream.h"

namespace verbena {

AttachmentReader ServerContext::attachment_reader() {
  if (arriving_ == nullptr) arriving_ = rpc::ArrivingAttachment::Whole(request_attachment_);
  return AttachmentReader(arriving_);
}

absl::Status ServerContext::AddInitialMetadata(absl::string_view key, absl::string_view value) {
  const std::lock_guard lock(initial_mu_);
  if (initial_is_fixed_) {
    return absl::FailedPreconditionError("the initial metadata has left already, ahead of the first message");
  }
  return response_metadata_.initial.Add(key, value);
}

void ServerContext::SendInitialMetadata() {
  if (stream_ == nullptr) return;
  FixInitialMetadata();
  stream_->SendInitialMetadata();
}

const Metadata& ServerContext::FixInitialMetadata() {
  const std::lock_guard lock(initial_mu_);
  initial_is_fixed_ = true;
  return response_metadata_.initial;
}

}  // namespace verbena
