#include "rpc/core/client_session.h"

#include <algorithm>
#include <cassert>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace verbena::rpc {

ClientSession::ClientSession(const ClientSessionOptions& options) : options_(options), calls_(options.calls_max) {}

absl::Status ClientSession::DeadlineStatus() { return absl::DeadlineExceededError("the call's deadline has passed"); }

// For a connection, if there is none and it has time.
void ClientSession::Wait(uint64_t call_id, Call& call, absl::Time now) {
  if (call.deadline <= now) {
    Complete(call_id, call, DeadlineStatus(), Certainty::kNotSent);
  } else if (current_epoch_ != 0) {
    Send(call_id, call);
  } else if (options_.waits_for_connection) {
    deadlines_.Set(call_id, WaitingDeadline(call, now));
  } else {
    Complete(call_id, call, absl::UnavailableError("there is no connection"), Certainty::kNotSent);
  }
}

// With no time to wait, only an attempt under way may still help: OnConnectFailed ends the call.
absl::Time ClientSession::WaitingDeadline(const Call& call, absl::Time now) const {
  if (options_.connect_timeout == absl::ZeroDuration() || call.wait_for_ready) return call.deadline;
  return std::min(call.deadline, now + options_.connect_timeout);
}

void ClientSession::Send(uint64_t call_id, Call& call) {
  BeginSend(call_id, call);
  actions_.Push({ActionKind::kSend, call_id, absl::OkStatus()});
}

// The connection that was to take it drains: it goes to the next one, as if it were new.
void ClientSession::Requeue(uint64_t call_id, Call& call, absl::Time now) {
  call.state = State::kWaiting;
  call.certainty = Certainty::kNotSent;
  ++waiting_;
  Wait(call_id, call, now);
}

void ClientSession::SendWaiting() {
  std::vector<std::pair<uint64_t, uint64_t>> waiting;  // Sequence, id.
  calls_.ForEach([&](uint64_t call_id, Call& call) {
    if (call.state == State::kWaiting) waiting.emplace_back(call.sequence, call_id);
  });
  std::sort(waiting.begin(), waiting.end());
  for (const auto& [sequence, call_id] : waiting) Send(call_id, calls_.At(call_id));
}

void ClientSession::OnConnected(Epoch epoch, absl::Time now) {
  assert(epoch != 0);
  OnTime(now);  // A call whose time is up is not sent.
  current_epoch_ = epoch;
  connect_error_ = absl::OkStatus();
  SendWaiting();
}

void ClientSession::OnConnectFailed(const absl::Status& status) {
  connect_error_ = status;
  const bool refused = absl::IsUnauthenticated(status);
  if (options_.connect_timeout > absl::ZeroDuration() && !refused) return;
  const absl::StatusCode code = refused ? absl::StatusCode::kUnauthenticated : absl::StatusCode::kUnavailable;
  calls_.ForEach([&](uint64_t call_id, Call& call) {
    if (call.state == State::kWaiting && (refused || !call.wait_for_ready)) {
      Complete(call_id, call, absl::Status(code, absl::StrCat("no connection: ", status.message())),
               Certainty::kNotSent);
    }
  });
}

void ClientSession::OnPeerDraining(Epoch epoch) {
  if (current_epoch_ == epoch) current_epoch_ = 0;
}

void ClientSession::OnDisconnected(Epoch epoch, const absl::Status& status) {
  if (current_epoch_ == epoch) current_epoch_ = 0;
  calls_.ForEach([&](uint64_t call_id, Call& call) {
    if (call.epoch != epoch || call.state == State::kWaiting) return;
    call.send_outstanding = false;
    Lose(call_id, call, status);
  });
}

void ClientSession::Lose(uint64_t call_id, Call& call, const absl::Status& status) {
  switch (call.state) {
    case State::kEnding:
    case State::kCompleted:
      Release(call_id, call);
      return;
    case State::kWithdrawing:
      Complete(call_id, call, std::move(call.status), Certainty::kOutcomeUnknown);
      return;
    case State::kWaiting:
    case State::kSending:
    case State::kAwaiting:
    case State::kFailed:
    case State::kFetching:
      Complete(call_id, call,
               absl::UnavailableError(status.ok() ? "the server closed the connection"
                                                  : absl::StrCat("the connection failed: ", status.message())),
               call.certainty);
      return;
  }
}

bool ClientSession::Drop(uint64_t call_id) {
  Call* const call = calls_.Find(call_id);
  if (call == nullptr || (call->state != State::kWaiting && call->state != State::kSending)) return false;
  if (call->state == State::kWaiting) --waiting_;
  deadlines_.Remove(call_id);
  calls_.Erase(call_id);
  return true;
}

void ClientSession::OnSent(Epoch epoch, uint64_t call_id, RequestSendOutcome outcome, absl::Time now) {
  Call* call = FindOf(epoch, call_id);
  if (call == nullptr) return;
  call->send_outstanding = false;
  switch (call->state) {
    case State::kEnding:
    case State::kCompleted:
      Release(call_id, *call);
      return;
    case State::kWithdrawing:
      OnWithdrawnSent(call_id, *call, outcome);
      return;
    case State::kSending:
      break;
    case State::kWaiting:
    case State::kAwaiting:
    case State::kFailed:
    case State::kFetching:
      return;  // The response overtook this: the order between them is undefined.
  }
  switch (outcome) {
    case RequestSendOutcome::kDelivered:
      call->state = State::kAwaiting;
      return;
    case RequestSendOutcome::kRefused:
      AwaitReason(call_id, *call, Certainty::kNotSent, now);
      return;
    case RequestSendOutcome::kUnknown:
      AwaitReason(call_id, *call, Certainty::kOutcomeUnknown, now);
      return;
    case RequestSendOutcome::kNotSent:
      if (epoch == current_epoch_) {
        AwaitReason(call_id, *call, Certainty::kNotSent, now);
      } else {
        Requeue(call_id, *call, now);
      }
      return;
    case RequestSendOutcome::kNoMemory:
      Complete(call_id, *call, absl::ResourceExhaustedError("no payload memory to send the request from"),
               Certainty::kNotSent);
      return;
  }
}

void ClientSession::AwaitReason(uint64_t call_id, Call& call, Certainty certainty, absl::Time now) {
  call.state = State::kFailed;
  call.certainty = certainty;
  deadlines_.Set(call_id, std::min(call.deadline, now + options_.reason_time));
}

void ClientSession::OnWithdrawnSent(uint64_t call_id, Call& call, RequestSendOutcome outcome) {
  const bool never_there = outcome == RequestSendOutcome::kNotSent || outcome == RequestSendOutcome::kRefused ||
                           outcome == RequestSendOutcome::kNoMemory;
  if (outcome == RequestSendOutcome::kDelivered) {
    actions_.Push({ActionKind::kTellCancelled, call_id, absl::OkStatus()});
  }
  Complete(call_id, call, std::move(call.status), never_there ? Certainty::kNotSent : Certainty::kOutcomeUnknown);
}

bool ClientSession::OnResponseAnnounced(Epoch epoch, uint64_t call_id, uint64_t payload_bytes) {
  Call* call = FindOf(epoch, call_id);
  if (call == nullptr || Ended(*call) || call->state == State::kFetching) {
    ++stale_responses_;
    return false;
  }
  if (call->state == State::kWithdrawing) {  // Crossed it: nobody waits for what would still have to be fetched.
    Complete(call_id, *call, std::move(call->status), Certainty::kExecuted);
    return false;
  }
  if (payload_bytes > options_.message_bytes_max) {
    Complete(call_id, *call,
             absl::ResourceExhaustedError(
                 absl::StrCat("the response has ", payload_bytes,
                              " bytes; the client takes message_bytes_max = ", options_.message_bytes_max)),
             Certainty::kExecuted);
    return false;
  }
  call->state = State::kFetching;
  call->certainty = Certainty::kExecuted;
  deadlines_.Set(call_id, call->deadline);
  return true;
}

void ClientSession::OnFetchFailed(Epoch epoch, uint64_t call_id, const absl::Status& status) {
  Call* call = FindOf(epoch, call_id);
  if (call == nullptr || call->state != State::kFetching) return;
  // What ran short is worth telling from what broke.
  const absl::StatusCode code =
      absl::IsResourceExhausted(status) ? absl::StatusCode::kResourceExhausted : absl::StatusCode::kUnavailable;
  Complete(call_id, *call, absl::Status(code, absl::StrCat("the response was not fetched: ", status.message())),
           Certainty::kExecuted);
}

bool ClientSession::IsOpen(Epoch epoch, uint64_t call_id) {
  const Call* call = FindOf(epoch, call_id);
  return call != nullptr && !Ended(*call) && call->state != State::kWithdrawing;
}

void ClientSession::Cancel(uint64_t call_id, absl::Time now) {
  Fail(call_id, absl::CancelledError("the caller cancelled the call"), now);
}

void ClientSession::Fail(uint64_t call_id, absl::Status status, absl::Time now) {
  Call* call = calls_.Find(call_id);
  if (call != nullptr) Withdraw(call_id, *call, std::move(status), now);
}

// However a call is given up, what is on its way is stopped and the server is told.
void ClientSession::Withdraw(uint64_t call_id, Call& call, absl::Status status, absl::Time now) {
  switch (call.state) {
    case State::kWaiting:
    case State::kFailed:
      Complete(call_id, call, std::move(status), call.certainty);
      return;
    case State::kSending:
      call.state = State::kWithdrawing;
      call.status = std::move(status);
      deadlines_.Set(call_id, now + options_.settle_time);
      actions_.Push({ActionKind::kCancelSend, call_id, absl::OkStatus()});
      return;
    case State::kFetching:
      actions_.Push({ActionKind::kCancelFetch, call_id, absl::OkStatus()});
      Complete(call_id, call, std::move(status), call.certainty);
      return;
    case State::kAwaiting:
      actions_.Push({ActionKind::kTellCancelled, call_id, absl::OkStatus()});
      Complete(call_id, call, std::move(status), call.certainty);
      return;
    case State::kWithdrawing:
    case State::kEnding:
    case State::kCompleted:
      return;
  }
}

bool ClientSession::HasCalls(Epoch epoch) {
  bool found = false;
  calls_.ForEach(
      [&](uint64_t, Call& call) { found |= call.epoch == epoch && call.state != State::kWaiting && !Ended(call); });
  return found;
}

void ClientSession::OnTime(absl::Time now) {
  while (const std::optional<uint64_t> call_id = deadlines_.PopExpired(now)) {
    OnCallTimeUp(*call_id, calls_.At(*call_id), now);
  }
}

void ClientSession::OnCallTimeUp(uint64_t call_id, Call& call, absl::Time now) {
  switch (call.state) {
    case State::kWaiting:
      Complete(call_id, call, WhyNotConnected(call, now), Certainty::kNotSent);
      return;
    case State::kWithdrawing:  // The send does not say what became of it: tell the server, in case it was delivered.
      actions_.Push({ActionKind::kTellCancelled, call_id, absl::OkStatus()});
      Complete(call_id, call, std::move(call.status), Certainty::kOutcomeUnknown);
      return;
    case State::kFailed:
      Complete(call_id, call,
               call.deadline <= now ? DeadlineStatus() : absl::UnavailableError("the request was not delivered"),
               call.certainty);
      return;
    case State::kSending:
    case State::kAwaiting:
    case State::kFetching:
      Withdraw(call_id, call, DeadlineStatus(), now);
      return;
    case State::kEnding:
    case State::kCompleted:
      return;
  }
}

absl::Status ClientSession::WhyNotConnected(const Call& call, absl::Time now) const {
  const std::string error = connect_error_.ok() ? "" : absl::StrCat("; last connect error: ", connect_error_.message());
  if (call.deadline <= now) {
    return absl::DeadlineExceededError(absl::StrCat("the call's deadline passed before there was a connection", error));
  }
  return absl::UnavailableError(
      absl::StrCat("no connection within ", absl::FormatDuration(options_.connect_timeout), error));
}

void ClientSession::Shutdown(absl::string_view reason) {
  current_epoch_ = 0;
  calls_.ForEach([&](uint64_t call_id, Call& call) {
    call.send_outstanding = false;
    if (Ended(call)) {
      Release(call_id, call);
    } else {
      Complete(call_id, call, absl::CancelledError(reason), call.certainty);
    }
  });
}

void ClientSession::Complete(uint64_t call_id, Call& call, absl::Status status, Certainty certainty) {
  SetCertainty(&status, certainty);
  deadlines_.Remove(call_id);
  if (call.state == State::kWaiting) --waiting_;
  call.state = State::kEnding;
  actions_.Push({ActionKind::kComplete, call_id, std::move(status)});
}

std::optional<ClientSession::Action> ClientSession::NextAction() {
  while (!actions_.empty()) {
    Action action = actions_.Take();
    if (action.kind == ActionKind::kSend && EndIfGivenUp(action.call_id)) continue;
    if (action.kind == ActionKind::kComplete) {
      Call& call = calls_.At(action.call_id);
      call.state = State::kCompleted;
      Release(action.call_id, call);
    }
    return action;
  }
  return std::nullopt;
}

// Before its request was taken: it ends as not sent.
bool ClientSession::EndIfGivenUp(uint64_t call_id) {
  Call* const call = calls_.Find(call_id);
  if (call == nullptr) return true;  // Dropped.
  if (call->state != State::kWithdrawing) return false;
  call->send_outstanding = false;
  OnWithdrawnSent(call_id, *call, RequestSendOutcome::kNotSent);
  return true;
}

}  // namespace verbena::rpc
