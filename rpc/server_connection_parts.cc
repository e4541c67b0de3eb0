// What a server's connection does with requests that are fetched in parts.

#include <utility>

#include "rpc/callback_scope.h"
#include "rpc/server_connection.h"
#include "rpc/server_loop.h"

namespace verbena::rpc {

bool ServerConnection::ExpectParts(uint64_t call_id, const ServerSession::Decision& decision, uint64_t payload_bytes) {
  if (decision.body_bytes == payload_bytes || !loop_.methods().reads_in_parts(decision.method)) return false;
  in_parts_[call_id] = RequestInParts{decision.body_bytes, 0, nullptr};
  return true;
}

void ServerConnection::OnPart(const transport::MessageHead& head, transport::ReceivedPayload& landed) {
  const CallbackScope scope(loop_.gate());
  const auto found = in_parts_.find(head.call_id);
  if (found == in_parts_.end()) return;  // Nobody waits for it any more.
  RequestInParts& request = found->second;
  const size_t bytes = landed.bytes().size();
  if (bytes < request.body_bytes) return;
  if (request.attachment == nullptr) {
    BeginInParts(head, landed);
    return Settle();
  }
  const std::shared_ptr<ArrivingAttachment> attachment = request.attachment;
  absl::Cord part = landed.Share(std::exchange(request.given_bytes, bytes));
  if (bytes == head.payload_bytes) in_parts_.erase(found);
  attachment->Add(std::move(part));  // May be the call's end.
  Settle();
}

// Its message has come, and perhaps all of it.
void ServerConnection::BeginInParts(const transport::MessageHead& head, transport::ReceivedPayload& landed) {
  const ServerSession::Decision decision =
      session_.OnRequest(head.call_id, head.header, head.payload_bytes, loop_.event_loop().Now());
  const size_t bytes = landed.bytes().size();
  const bool whole = bytes == head.payload_bytes;
  if (decision.admission != ServerSession::Admission::kAdmit) {  // Nobody waits: its fetch is being cancelled.
    in_parts_.erase(head.call_id);
    if (decision.admission == ServerSession::Admission::kReject) Reject(head.call_id, decision.status);
    return;
  }
  const auto attachment = std::make_shared<ArrivingAttachment>(head.payload_bytes - decision.body_bytes);
  if (whole) {
    in_parts_.erase(head.call_id);
  } else {
    in_parts_[head.call_id] = RequestInParts{decision.body_bytes, bytes, attachment};
  }
  RunInParts(decision, landed, attachment);
}

void ServerConnection::RunInParts(const ServerSession::Decision& decision, transport::ReceivedPayload& landed,
                                  const std::shared_ptr<ArrivingAttachment>& attachment) {
  std::unique_ptr<ServerCall> call = BeginCall(decision);
  absl::Cord first = landed.Share(decision.body_bytes);
  attachment->Add(first);
  call->set_request_attachment(std::move(first));
  call->ReadInParts(attachment);
  RunCall(std::move(call), landed.bytes().first(decision.body_bytes));
}

bool ServerConnection::FailParts(uint64_t call_id, const absl::Status& status) {
  const auto failed = in_parts_.extract(call_id);
  if (failed.empty() || failed.mapped().attachment == nullptr) return false;
  if (absl::IsCancelled(status)) {  // Withdrawn: nobody waits for the call.
    session_.OnCancel(call_id);
  } else {
    const CallbackScope scope(loop_.gate());
    failed.mapped().attachment->Fail(status);
  }
  return true;
}

void ServerConnection::StopParts(uint64_t call_id) {
  if (in_parts_.erase(call_id) > 0) connection_->CancelFetch(call_id);
}

void ServerConnection::CloseParts(const ServerCall& call) {
  call.arriving()->Close();
  StopParts(session_.CallIdOf(call.local()));
}

void ServerConnection::TellCancelled(ServerCall& call) {
  const std::shared_ptr<ArrivingAttachment> attachment = call.arriving();  // Null: there is none. Outlives the call.
  call.MarkCancelled();
  if (attachment != nullptr) attachment->Fail(absl::CancelledError("nobody waits for the call any more"));
}

}  // namespace verbena::rpc
