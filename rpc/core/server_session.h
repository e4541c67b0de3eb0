// The calls that a server has taken from one connection: which are admitted, and what becomes of each, without a
// connection, a clock or a thread.
//
// A request is judged when it is announced, before it is fetched, or when it arrives: known method, size, limits, time
// left. What is admitted runs, is answered once, and is released when the answer has left. A call whose client
// cancelled, whose deadline passed or whose connection is gone is abandoned: its handler is told and its answer
// dropped.
//
// The peer chooses call ids; nothing here trusts them. Calls have ids of the session's own (`local`), whose index is
// dense, for the driver.
//
// Order of calls: any event at any time, with a `now` that never goes back; nothing but OnHandlerDone after OnClosed.
// After each, take NextAction until nullopt; at NextDeadline, call OnTime.
//
// Owner: the driver of a server's connection. Thread: its event loop's.

#ifndef VERBENA_RPC_CORE_SERVER_SESSION_H_
#define VERBENA_RPC_CORE_SERVER_SESSION_H_

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "rpc/core/action_queue.h"
#include "rpc/core/call_header.h"
#include "rpc/core/call_table.h"
#include "rpc/core/deadline_queue.h"
#include "rpc/core/overload/call_shares.h"
#include "rpc/core/overload/client_id.h"
#include "rpc/core/peer_calls.h"

namespace verbena::rpc {

// Which methods there are. Immutable while sessions use it.
class MethodLookup {
 public:
  virtual ~MethodLookup() = default;
  // The method's index; or Unimplemented, naming what is not there.
  virtual absl::StatusOr<uint32_t> Find(absl::string_view full_name) const = 0;
  virtual MethodKind kind(uint32_t method) const = 0;
};

// Who may call what. Asked once about each call of a method that there is, before it is fetched or run.
class CallGate {
 public:
  virtual ~CallGate() = default;
  // `full_name` and `fields`, those of the request's header, are valid during the call. Not OK: it is rejected with it.
  virtual absl::Status Check(absl::string_view full_name, absl::Span<const std::byte> fields) = 0;
};

// What a call of this client's would need beyond its place among the calls in flight. Asked about a call that is
// announced, before it is fetched: what would be refused then is better refused now.
class CallPlaces {
 public:
  virtual ~CallPlaces() = default;
  // Not OK: it would not get that; why.
  virtual absl::Status CheckPlace(uint32_t method) = 0;
};

// What the sessions of one event loop share: the calls that they may have at once, and what they count.
struct CallTally {
  explicit CallTally(uint32_t calls_max) : shares(calls_max) {}
  uint64_t calls() const { return shares.calls(); }

  CallShares shares;
  uint64_t accepted = 0;
  uint64_t refused = 0;
  uint64_t dropped = 0;  // Announced or arrived with nobody waiting, or given up unfetched.
};

struct ServerSessionOptions {
  uint32_t calls_max = 16384;
  uint64_t message_bytes_max = uint64_t{1} << 30;
};

class ServerSession {
 public:
  enum class Admission {
    kAdmit,   // Fetch it (announced), or run it (arrived).
    kReject,  // Refuse it, and answer with `status`. Report that answer's departure by OnRejectionSent.
    kDrop,    // Refuse it, answer nothing: nobody waits.
  };
  struct Decision {
    Admission admission = Admission::kDrop;
    uint64_t local = 0;                                 // kAdmit.
    uint32_t method = 0;                                // kAdmit.
    uint64_t body_bytes = 0;                            // kAdmit: of the payload; the rest is the attachment.
    absl::Span<const std::byte> fields;                 // kAdmit: within the header that was judged.
    absl::Duration timeout = absl::InfiniteDuration();  // kAdmit: what is left of the call's time.
    absl::Status status;                                // kReject, with its certainty.
  };

  enum class ActionKind {
    kMarkCancelled,  // Tell the handler, or what still sends what it wrote, that nobody waits any more.
    kCancelFetch,    // Stop fetching the request; OnFetchFailed or OnRequest is to follow.
    kCancelSend,     // Stop sending the response; OnResponseSent is to follow.
    kAbort,          // Close the connection: the peer floods it with calls that are rejected.
  };
  struct Action {
    ActionKind kind;
    uint64_t local = 0;
    uint64_t call_id = 0;
  };

  // `client`: whose connection it is. `gate` may be null: everybody may call everything; `places` too: a call needs no
  // other. None is owned.
  ServerSession(const ServerSessionOptions& options, const MethodLookup* methods, CallTally* tally, ClientId client,
                CallGate* gate = nullptr, CallPlaces* places = nullptr);

  Decision OnAnnounced(uint64_t call_id, absl::Span<const std::byte> header, uint64_t payload_bytes, absl::Time now);
  // `fetched`: it was announced and OnAnnounced has admitted it. Else it is a call of its own.
  Decision OnRequest(uint64_t call_id, absl::Span<const std::byte> header, uint64_t payload_bytes, absl::Time now,
                     bool fetched = false);
  // kReject if memory ran short, and with it the call; else kDrop.
  Decision OnFetchFailed(uint64_t call_id, const absl::Status& status);
  void OnCancel(uint64_t call_id);
  // A running call's stream of requests cannot go on: the call is abandoned and answered with the decision's status, as
  // a rejection is.
  Decision OnStreamFailed(uint64_t local, const absl::Status& status);
  void OnTime(absl::Time now);
  void OnClosed();

  // The call that the peer calls `call_id`, from when it was admitted to run to OnHandlerDone, if somebody waits for
  // it: what belongs to its streams is for it. Else it is for nobody.
  std::optional<uint64_t> FindRunning(uint64_t call_id);

  // The handler of an admitted call is done, and all that it wrote is under way. True: answer it, and report the
  // answer's departure by OnResponseSent. False: nobody waits; the call is released.
  bool OnHandlerDone(uint64_t local) {
    Call& call = calls_.At(local);
    assert(call.state == State::kRunning || call.state == State::kAbandoned);
    if (call.state == State::kAbandoned) {
      ReleaseUnanswered(local, call);
      return false;
    }
    call.state = State::kResponding;
    deadlines_.Remove(local);
    return true;
  }
  [[gnu::always_inline]] void OnResponseSent(uint64_t local) {
    Call* const call = calls_.Find(local);
    if (call != nullptr && call->state == State::kResponding) Release(local, *call);
  }
  void OnRejectionSent() { --rejections_; }

  // New requests are rejected as UNAVAILABLE from here on.
  void StartDraining() { draining_ = true; }
  // Nothing is left to run or to answer.
  bool idle() const { return calls_.empty() && rejections_ == 0; }

  std::optional<Action> NextAction() { return actions_.Pop(); }
  bool has_actions() const { return !actions_.empty(); }
  absl::Time NextDeadline() const { return deadlines_.NextDeadline(); }

  // The peer's id of a call that is there. FindCallId: of one that may be over; nullopt: it is.
  uint64_t CallIdOf(uint64_t local) { return calls_.At(local).call_id; }
  std::optional<uint64_t> FindCallId(uint64_t local) {
    const Call* const call = calls_.Find(local);
    return call == nullptr ? std::nullopt : std::optional(call->call_id);
  }
  size_t calls() const { return calls_.size(); }
  // More than half of the calls that it, or the loop, may have are there: the places of those that are answered are
  // wanted.
  bool crowded() const {
    const CallShares& shares = tally_->shares;
    return 2 * calls_.size() > calls_.capacity() || 2 * shares.calls() > shares.calls_max();
  }

 private:
  enum class State {
    kFetching,        // Ended by OnRequest, OnFetchFailed, cancel, deadline.
    kAbandonedFetch,  // Nobody waits; ended by OnRequest or OnFetchFailed.
    kRunning,         // Ended by OnHandlerDone, cancel, deadline.
    kAbandoned,       // Runs for nobody; ended by OnHandlerDone.
    kResponding,      // Ended by OnResponseSent.
  };
  struct Call {
    State state = State::kFetching;
    uint64_t call_id = 0;
    absl::Time deadline = absl::InfiniteFuture();
  };

  static constexpr uint64_t kTimeoutMax = std::numeric_limits<int64_t>::max();  // What Abseil can count.

  Decision Admit(uint64_t call_id, absl::Span<const std::byte> header, uint64_t payload_bytes, State state,
                 absl::Time now);
  absl::Status Judge(const RequestHeader& request, uint64_t payload_bytes, State state);
  absl::Status WhyNotOfItsKind(const RequestHeader& request) const;
  Decision FinishFetch(uint64_t local, Call& call, absl::Span<const std::byte> header, uint64_t payload_bytes,
                       absl::Time now);
  Decision Reject(absl::Status status);
  Decision Drop();
  bool WithinLimits(uint64_t payload_bytes) const {
    return !draining_ && payload_bytes <= options_.message_bytes_max && !calls_.full() && share_.MayTake();
  }
  absl::Status WhyBeyondLimits(uint64_t payload_bytes) const;
  void Abandon(uint64_t local, Call& call);
  void ReleaseUnanswered(uint64_t local, const Call& call);
  [[gnu::always_inline]] void Release(uint64_t local, const Call& call) {
    deadlines_.Remove(local);
    locals_.Remove(call.call_id);
    calls_.Erase(local);
    share_.GiveBack();
  }
  // Makes it the last method. Not OK: there is none of that name.
  absl::Status FindMethod(absl::string_view name) {
    return SameMethod(name, last_method_.name) ? absl::OkStatus() : FindOtherMethod(name);
  }
  absl::Status FindOtherMethod(absl::string_view name);

  // Constant after construction.
  const ServerSessionOptions options_;
  const MethodLookup* const methods_;
  CallTally* const tally_;
  CallGate* const gate_;
  CallPlaces* const places_;

  CallShares::Share share_;
  CallTable<Call> calls_;
  PeerCalls locals_;
  // Of the last request: most are of the method that the one before was of.
  struct KnownMethod {
    std::string name;
    uint32_t index = 0;
    MethodKind kind = MethodKind::kUnary;
  };
  KnownMethod last_method_;
  DeadlineQueue deadlines_;
  ActionQueue<Action> actions_;
  uint32_t rejections_ = 0;  // Answers under way to calls that were rejected.
  bool draining_ = false;
};

// --- What every call passes.

[[gnu::always_inline]] inline ServerSession::Decision ServerSession::OnRequest(uint64_t call_id,
                                                                               absl::Span<const std::byte> header,
                                                                               uint64_t payload_bytes, absl::Time now,
                                                                               bool fetched) {
  const std::optional<uint64_t> local = locals_.Find(call_id);
  if (local.has_value() != fetched) return Drop();  // The peer uses an id twice.
  if (!fetched) return Admit(call_id, header, payload_bytes, State::kRunning, now);
  return FinishFetch(*local, calls_.At(*local), header, payload_bytes, now);
}

[[gnu::always_inline]] inline ServerSession::Decision ServerSession::Admit(uint64_t call_id,
                                                                           absl::Span<const std::byte> header,
                                                                           uint64_t payload_bytes, State state,
                                                                           absl::Time now) {
  const absl::StatusOr<RequestHeader> decoded = DecodeRequestHeader(header, payload_bytes, last_method_.name);
  if (!decoded.ok()) return Reject(decoded.status());
  const RequestHeader& request = *decoded;
  if (absl::Status verdict = Judge(request, payload_bytes, state); !verdict.ok()) return Reject(std::move(verdict));
  const bool limited = request.timeout_ns != 0 && request.timeout_ns <= kTimeoutMax;
  const absl::Duration timeout = limited ? absl::Nanoseconds(request.timeout_ns) : absl::InfiniteDuration();
  const absl::Time deadline = limited ? now + timeout : absl::InfiniteFuture();
  const uint64_t local = *calls_.Emplace(Call{state, call_id, deadline});
  locals_.Add(call_id, local);
  share_.Take();
  ++tally_->accepted;
  deadlines_.Set(local, deadline);
  return {Admission::kAdmit, local, last_method_.index, request.body_bytes, request.fields, timeout, absl::OkStatus()};
}

// Whether it may come in; it is of the last method then.
inline absl::Status ServerSession::Judge(const RequestHeader& request, uint64_t payload_bytes, State state) {
  if (absl::Status found = FindMethod(request.method); !found.ok()) return found;
  const MethodKind kind = last_method_.kind;
  if (request.kind != kind || (ClientStreams(kind) && payload_bytes > 0)) return WhyNotOfItsKind(request);
  if (gate_ != nullptr) {
    if (absl::Status verdict = gate_->Check(request.method, request.fields); !verdict.ok()) return verdict;
  }
  if (!WithinLimits(payload_bytes)) return WhyBeyondLimits(payload_bytes);
  if (places_ == nullptr || state != State::kFetching) return absl::OkStatus();
  return places_->CheckPlace(last_method_.index);
}

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_CORE_SERVER_SESSION_H_
