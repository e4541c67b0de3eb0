#include "rpc/server_context.h"

#include <utility>

#include "rpc/core/status_codec.h"
#include "rpc/message_stream.h"

namespace verbena {

absl::Status ServerContext::AddInitialMetadata(absl::string_view key, absl::string_view value) {
  const std::lock_guard lock(initial_mu_);
  if (initial_has_left_) {
    return absl::FailedPreconditionError("the initial metadata has left already, ahead of the first message");
  }
  return response_metadata_.initial.Add(key, value);
}

void ServerContext::SendInitialMetadata() {
  if (stream_ != nullptr) stream_->SendInitialMetadata();
}

bool ServerContext::TakeInitialMetadata(size_t room, rpc::ResponseMetadata* to) {
  const std::lock_guard lock(initial_mu_);
  if (initial_has_left_) return false;
  to->initial = std::exchange(response_metadata_.initial, Metadata());
  initial_has_left_ = rpc::CheckMetadataRoom(*to, room).ok();
  if (!initial_has_left_) std::swap(to->initial, response_metadata_.initial);
  return initial_has_left_;
}

}  // namespace verbena
