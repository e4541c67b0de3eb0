#include "rpc/client_call.h"

#include <utility>

#include "rpc/client_link.h"

namespace verbena::rpc {

// The stream is attached while there is a link, and learns of its end by Close.
uint64_t ClientCall::SendMessage(const StreamHeader& header, transport::PayloadSource* payload, absl::Cord attachment,
                                 bool may_leave) {
  return link_->SendStreamMessage(call_id_, header, payload, std::move(attachment), may_leave, user_.stream);
}

void ClientCall::SendEnd(uint64_t count) { link_->SendOfStream(MessageKind::kStreamEnd, call_id_, {count, 0}); }

void ClientCall::SendWindow(uint64_t limit) { link_->SendOfStream(MessageKind::kStreamWindow, call_id_, {0, limit}); }

void ClientCall::CancelSend(uint64_t send_id) {
  if (link_ != nullptr) link_->CancelSend(send_id);
}

void ClientCall::Fail(const absl::Status& status) { link_->FailCallLater(call_id_, status); }

}  // namespace verbena::rpc
