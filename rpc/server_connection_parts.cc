// What a server's connection does with requests that are fetched in parts.

#include <utility>

#include "absl/strings/str_cat.h"
#include "rpc/executor/callback_scope.h"
#include "rpc/server_connection.h"
#include "rpc/server_loop.h"

namespace verbena::rpc {

bool ServerConnection::ExpectParts(const transport::MessageHead& head, const ServerSession::Decision& decision) {
  const bool attached = decision.body_bytes < head.payload_bytes;
  if (!attached || !loop_.methods().reads_in_parts(decision.method)) return false;
  in_parts_[head.fetch_id].body_bytes = decision.body_bytes;
  return true;
}

void ServerConnection::OnPart(const transport::MessageHead& head, transport::ReceivedPayload& landed) {
  const CallbackScope scope(loop_.gate());
  const auto found = in_parts_.find(head.fetch_id);
  if (found == in_parts_.end()) return;  // The connection is closed.
  RequestInParts& request = found->second;
  const size_t bytes = landed.bytes().size();
  const bool whole = bytes == head.payload_bytes;
  const std::shared_ptr<ArrivingAttachment> attachment = request.attachment;
  if (attachment != nullptr && request.wanted) {
    absl::Cord part = landed.Share(std::exchange(request.given_bytes, bytes));
    if (whole) in_parts_.erase(found);
    attachment->Add(std::move(part));  // May be the call's end.
  } else if (request.wanted && bytes >= request.body_bytes) {
    BeginInParts(head, landed, request);
  } else if (whole) {
    in_parts_.erase(found);
  }
  Settle();
}

// Its message has come, and perhaps all of it.
void ServerConnection::BeginInParts(const transport::MessageHead& head, transport::ReceivedPayload& landed,
                                    RequestInParts& request) {
  const ServerSession::Decision decision =
      session_.OnRequest(head.call_id, head.header, head.payload_bytes, loop_.event_loop().Now(), /*fetched=*/true);
  const size_t bytes = landed.bytes().size();
  const bool whole = bytes == head.payload_bytes;
  if (decision.admission != ServerSession::Admission::kAdmit) {
    request.wanted = false;
    if (!whole) connection_->CancelFetch(head.call_id);
    if (whole) in_parts_.erase(head.fetch_id);
    if (decision.admission == ServerSession::Admission::kReject) Reject(head.call_id, decision.status);
    return;
  }
  const auto attachment = std::make_shared<ArrivingAttachment>(head.payload_bytes - decision.body_bytes);
  request.given_bytes = bytes;
  request.attachment = attachment;
  if (whole) in_parts_.erase(head.fetch_id);
  RunInParts(decision, head.fetch_id, landed, attachment);
}

void ServerConnection::RunInParts(const ServerSession::Decision& decision, uint64_t fetch_id,
                                  transport::ReceivedPayload& landed,
                                  const std::shared_ptr<ArrivingAttachment>& attachment) {
  std::unique_ptr<ServerCall> call = BeginCall(decision);
  absl::Cord first = landed.Share(decision.body_bytes);
  attachment->Add(first);
  call->set_request_attachment(std::move(first));
  call->ReadInParts(fetch_id, attachment);
  RunCall(std::move(call), landed.bytes().first(decision.body_bytes));
}

bool ServerConnection::FailParts(const transport::MessageHead& head, const absl::Status& status) {
  const auto failed = in_parts_.extract(head.fetch_id);
  if (failed.empty()) return false;
  if (!failed.mapped().wanted) return true;
  if (failed.mapped().attachment == nullptr) return false;
  if (absl::IsCancelled(status)) {  // Withdrawn: nobody waits for the call.
    session_.OnCancel(head.call_id);
    return true;
  }
  const CallbackScope scope(loop_.gate());
  failed.mapped().attachment->Fail(
      absl::IsDataLoss(status)
          ? status
          : absl::UnavailableError(absl::StrCat("the rest of the attachment does not come: ", status.message())));
  return true;
}

void ServerConnection::StopParts(const ServerCall& call) {
  if (call.arriving() == nullptr) return;
  const auto found = in_parts_.find(call.fetch_id());
  if (found == in_parts_.end() || !std::exchange(found->second.wanted, false)) return;
  connection_->CancelFetch(session_.CallIdOf(call.local()));
}

void ServerConnection::TellCancelled(ServerCall& call) {
  const std::shared_ptr<ArrivingAttachment> attachment = call.arriving();  // Null: there is none. Outlives the call.
  call.MarkCancelled();
  if (attachment != nullptr) attachment->Fail(absl::CancelledError("nobody waits for the call any more"));
}

}  // namespace verbena::rpc
