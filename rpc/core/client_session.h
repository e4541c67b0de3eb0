// The calls that a client has made on one reconnecting connection: what becomes of each, without a connection, a clock
// or a thread.
//
// A call waits for a connection, is sent, and ends with a response, a deadline, a cancel or the loss of the connection;
// it is completed exactly once. Connections come and go; each is an epoch, and a call belongs to the epoch that it was
// sent on. An epoch that drains takes no new calls while those on it finish.
//
// A call's slot, and so its id, lives on until its completion has been taken and the outcome of its send is known: the
// transport may still read the request's memory.
//
// Order of calls: any event at any time, with a `now` that never goes back. After each, take NextAction until nullopt
// and do what it says; at NextDeadline, call OnTime. What the driver keeps for a call it drops when it takes kComplete,
// or when OnResponse completes it, or Drop has ended it, before it runs anything of the user's: the slot may be used
// again from there on.
//
// Owner: the driver of a channel's connection. Thread: its event loop's.

#ifndef VERBENA_RPC_CORE_CLIENT_SESSION_H_
#define VERBENA_RPC_CORE_CLIENT_SESSION_H_

#include <cassert>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "rpc/core/action_queue.h"
#include "rpc/core/call_table.h"
#include "rpc/core/certainty.h"
#include "rpc/core/deadline_queue.h"

namespace verbena::rpc {

struct ClientSessionOptions {
  uint32_t calls_max = 16384;                            // At once, the completed whose send is not reported included.
  uint64_t message_bytes_max = uint64_t{1} << 30;        // A larger response is refused.
  absl::Duration connect_timeout = absl::Seconds(3);     // How long a call waits for a connection.
  bool waits_for_connection = true;                      // False: a call without one fails at once, not sent.
  absl::Duration settle_time = absl::Milliseconds(5);    // How long a withdrawn send may take to say whether it left.
  absl::Duration reason_time = absl::Milliseconds(500);  // How long the reason may take to follow a failed send.
};

// As transport::SendOutcome. kDelivered also for a request that has left: only the end of its epoch can lose it then.
enum class RequestSendOutcome { kDelivered, kNotSent, kRefused, kUnknown, kNoMemory };

class ClientSession {
 public:
  using Epoch = uint32_t;  // Of a connection; never 0.

  enum class ActionKind {
    kSend,           // Send the request on the current epoch's connection.
    kCancelSend,     // Cancel the send of the request; OnSent is to follow.
    kTellCancelled,  // Send a cancel message for the call on its own epoch's connection.
    kCancelFetch,    // Stop fetching the response.
    kComplete,       // Tell the user `status`: not OK, with its certainty.
  };
  struct Action {
    ActionKind kind;
    uint64_t call_id;
    absl::Status status;
  };

  enum class ResponseEffect {
    kNone,       // Nobody waits for it.
    kCompletes,  // Its call is complete; the slot lives on until OnSent.
    kEnds,       // The same, and the slot is free.
  };

  struct Started {
    uint64_t call_id;
    bool send_now;  // As if kSend were the next action. False: that follows, or the end.
  };

  explicit ClientSession(const ClientSessionOptions& options);

  // Of a call whose time is up.
  static absl::Status DeadlineStatus();

  // A new call; nullopt: calls_max are in flight. It is sent at once or when connected. `wait_for_ready`: it waits for
  // that until its deadline.
  std::optional<Started> Start(absl::Time deadline, absl::Time now, bool wait_for_ready = false);
  // The user lost interest. Nothing happens if the call is complete.
  void Cancel(uint64_t call_id, absl::Time now);
  // The same, for a reason of the driver's: its streams cannot go on.
  void Fail(uint64_t call_id, absl::Status status, absl::Time now);
  // The driver could not send it (an invalid request, a connection that just went), and ends it by itself: it is no
  // call any more. False: it has come further, or to its end.
  bool Drop(uint64_t call_id);
  // Everything ends as CANCELLED, with `reason`. Nothing is sent any more.
  void Shutdown(absl::string_view reason);

  void OnConnected(Epoch epoch, absl::Time now);
  // Unauthenticated: one side refuses the other for who it is. Calls that wait end with that, and not later.
  void OnConnectFailed(const absl::Status& status);
  void OnPeerDraining(Epoch epoch);
  void OnDisconnected(Epoch epoch, const absl::Status& status);  // Every OnSent of the epoch has been made.

  void OnSent(Epoch epoch, uint64_t call_id, RequestSendOutcome outcome, absl::Time now);
  // The same, kDelivered, for a request that left while it was being sent.
  void OnLeft(uint64_t call_id) {
    Call& call = calls_.At(call_id);
    assert(call.state == State::kSending);
    call.send_outstanding = false;
    call.state = State::kAwaiting;
  }
  // A large response: whether to fetch it.
  bool OnResponseAnnounced(Epoch epoch, uint64_t call_id, uint64_t payload_bytes);
  void OnFetchFailed(Epoch epoch, uint64_t call_id, const absl::Status& status);
  // Whether somebody waits for the call's response: what belongs to its streams is for him.
  bool IsOpen(Epoch epoch, uint64_t call_id);
  // A response is here. If it completes a call, no kComplete follows.
  ResponseEffect OnResponse(Epoch epoch, uint64_t call_id);
  void OnTime(absl::Time now);

  std::optional<Action> NextAction();
  bool has_actions() const { return !actions_.empty(); }
  absl::Time NextDeadline() const { return deadlines_.NextDeadline(); }

  // Whether one of them was sent on this epoch, and is not over. Looks at each.
  bool HasCalls(Epoch epoch);
  Epoch current_epoch() const { return current_epoch_; }  // 0: not connected.
  size_t calls() const { return calls_.size(); }
  // More than half of those that it may have: the places of calls that are over are wanted.
  bool crowded() const { return 2 * calls_.size() > calls_.capacity(); }
  size_t calls_waiting() const { return waiting_; }  // For a connection.
  uint64_t stale_responses() const { return stale_responses_; }
  const absl::Status& last_connect_error() const { return connect_error_; }

 private:
  enum class State {
    kWaiting,      // For a connection. Ended by OnConnected, its time limit, Cancel.
    kSending,      // Ended by OnSent, the response, the deadline, Cancel, OnDisconnected.
    kWithdrawing,  // Its send is being cancelled; ended by OnSent or settle_time. `status` says why.
    kAwaiting,     // Delivered, or it has left. Ended by the response, the deadline, Cancel, OnDisconnected.
    kFailed,       // The send failed or was refused. Ended by the reason (a response, OnDisconnected) or reason_time.
    kFetching,     // The response is being fetched. Ended by OnResponse, OnFetchFailed, the deadline, Cancel.
    kEnding,       // Its kComplete is queued. Ended by NextAction.
    kCompleted,    // The user knows; the send is not reported yet. Ended by OnSent, OnDisconnected.
  };

  struct Call {
    State state = State::kWaiting;
    bool send_outstanding = false;
    bool wait_for_ready = false;
    Certainty certainty = Certainty::kNotSent;  // What to say if it failed now.
    Epoch epoch = 0;
    uint64_t sequence = 0;  // Order of Start.
    absl::Time deadline;    // The user's.
    absl::Status status;    // kWithdrawing: how it will end.
  };

  Call* FindOf(Epoch epoch, uint64_t call_id);
  void BeginSend(uint64_t call_id, Call& call);  // Without an action.
  void Send(uint64_t call_id, Call& call);
  void SendWaiting();
  void Withdraw(uint64_t call_id, Call& call, absl::Status status, absl::Time now);
  bool EndIfGivenUp(uint64_t call_id);
  void OnWithdrawnSent(uint64_t call_id, Call& call, RequestSendOutcome outcome);
  absl::Time WaitingDeadline(const Call& call, absl::Time now) const;
  void Wait(uint64_t call_id, Call& call, absl::Time now);
  void Requeue(uint64_t call_id, Call& call, absl::Time now);
  void AwaitReason(uint64_t call_id, Call& call, Certainty certainty, absl::Time now);
  void OnCallTimeUp(uint64_t call_id, Call& call, absl::Time now);
  bool Ended(const Call& call) const { return call.state == State::kEnding || call.state == State::kCompleted; }
  void Lose(uint64_t call_id, Call& call, const absl::Status& status);
  void Complete(uint64_t call_id, Call& call, absl::Status status, Certainty certainty);
  void Release(uint64_t call_id, Call& call);
  absl::Status WhyNotConnected(const Call& call, absl::Time now) const;

  // Constant after construction.
  const ClientSessionOptions options_;

  CallTable<Call> calls_;
  DeadlineQueue deadlines_;
  ActionQueue<Action> actions_;
  Epoch current_epoch_ = 0;
  uint64_t last_sequence_ = 0;
  size_t waiting_ = 0;
  uint64_t stale_responses_ = 0;
  absl::Status connect_error_;
};

// --- What every call passes.

inline std::optional<ClientSession::Started> ClientSession::Start(absl::Time deadline, absl::Time now,
                                                                  bool wait_for_ready) {
  const std::optional<uint64_t> call_id = calls_.Emplace();
  if (!call_id.has_value()) return std::nullopt;
  Call& call = calls_.At(*call_id);
  call.deadline = deadline;
  call.wait_for_ready = wait_for_ready;
  call.sequence = ++last_sequence_;
  ++waiting_;
  if (deadline > now && current_epoch_ != 0 && actions_.empty()) {
    BeginSend(*call_id, call);
    return Started{*call_id, true};
  }
  Wait(*call_id, call, now);
  return Started{*call_id, false};
}

inline void ClientSession::BeginSend(uint64_t call_id, Call& call) {
  assert(call.state == State::kWaiting);
  --waiting_;
  call.state = State::kSending;
  call.send_outstanding = true;
  call.certainty = Certainty::kOutcomeUnknown;
  call.epoch = current_epoch_;
  deadlines_.Set(call_id, call.deadline);
}

// Frees the slot, unless its completion is to be taken or the outcome of its send to be known.
inline void ClientSession::Release(uint64_t call_id, Call& call) {
  if (call.state != State::kCompleted) return;
  deadlines_.Remove(call_id);
  if (!call.send_outstanding) calls_.Erase(call_id);
}

inline ClientSession::Call* ClientSession::FindOf(Epoch epoch, uint64_t call_id) {
  Call* call = calls_.Find(call_id);
  return call != nullptr && call->epoch == epoch && call->state != State::kWaiting ? call : nullptr;
}

inline ClientSession::ResponseEffect ClientSession::OnResponse(Epoch epoch, uint64_t call_id) {
  Call* call = FindOf(epoch, call_id);
  if (call == nullptr || Ended(*call)) {
    ++stale_responses_;
    return ResponseEffect::kNone;
  }
  call->state = State::kCompleted;
  const bool sending = call->send_outstanding;
  Release(call_id, *call);
  return sending ? ResponseEffect::kCompletes : ResponseEffect::kEnds;
}

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_CORE_CLIENT_SESSION_H_
