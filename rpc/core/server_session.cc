#include "rpc/core/server_session.h"

#include <cassert>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "rpc/core/certainty.h"

namespace verbena::rpc {
namespace {

// Answers to rejected calls that may be under way beyond the calls in flight, before the peer is taken for a flooder.
// As many as the calls that a client has in flight at most by default: an honest one, all of whose calls are rejected.
constexpr uint64_t kRejectionsBeyondCallsMax = 16384;

}  // namespace

ServerSession::ServerSession(const ServerSessionOptions& options, const MethodLookup* methods, CallTally* tally,
                             ClientId client, CallGate* gate, CallPlaces* places)
    : options_(options),
      methods_(methods),
      tally_(tally),
      gate_(gate),
      places_(places),
      share_(tally->shares.Join(client)),
      calls_(options.calls_max) {}

absl::Status ServerSession::FindOtherMethod(absl::string_view name) {
  const absl::StatusOr<uint32_t> method = methods_->Find(name);
  if (!method.ok()) return method.status();
  last_method_.name.assign(name.data(), name.size());
  last_method_.index = *method;
  last_method_.kind = methods_->kind(*method);
  return absl::OkStatus();
}

ServerSession::Decision ServerSession::OnAnnounced(uint64_t call_id, absl::Span<const std::byte> header,
                                                   uint64_t payload_bytes, absl::Time now) {
  if (locals_.Find(call_id).has_value()) return Drop();  // The peer uses an id twice.
  return Admit(call_id, header, payload_bytes, State::kFetching, now);
}

ServerSession::Decision ServerSession::FinishFetch(uint64_t local, Call& call, absl::Span<const std::byte> header,
                                                   uint64_t payload_bytes, absl::Time now) {
  switch (call.state) {
    case State::kFetching:
      break;
    case State::kAbandonedFetch:
      Release(local, call);
      return Decision();  // Counted when it was abandoned.
    case State::kRunning:
    case State::kAbandoned:
    case State::kResponding:
      return Drop();  // The peer uses an id twice.
  }
  const absl::StatusOr<RequestHeader> decoded = DecodeRequestHeader(header, payload_bytes, last_method_.name);
  if (!decoded.ok() || !FindMethod(decoded->method).ok()) {  // It was well when it was announced.
    Release(local, call);
    return Reject(absl::InternalError("the request arrived with another header than it was announced with"));
  }
  call.state = State::kRunning;
  return {Admission::kAdmit,   local,           last_method_.index, decoded->body_bytes, decoded->fields,
          call.deadline - now, absl::OkStatus()};
}

absl::Status ServerSession::WhyNotOfItsKind(const RequestHeader& request) const {
  const MethodKind kind = last_method_.kind;
  if (request.kind != kind) {
    return absl::UnimplementedError(absl::StrCat(request.method, " is ", ToString(kind),
                                                 " at the server; the client calls it as ", ToString(request.kind)));
  }
  return absl::InvalidArgumentError(
      absl::StrCat("the request of the ", ToString(kind), " ", request.method, " has a payload of its own"));
}

absl::Status ServerSession::WhyBeyondLimits(uint64_t payload_bytes) const {
  if (draining_) return absl::UnavailableError("the server is shutting down");
  if (payload_bytes > options_.message_bytes_max) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the request has ", payload_bytes,
                     " bytes; the server takes message_bytes_max = ", options_.message_bytes_max));
  }
  if (calls_.full()) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the connection has ", calls_.size(), " calls in flight at the server, its limit"));
  }
  const CallShares& shares = tally_->shares;
  return absl::ResourceExhaustedError(
      shares.calls() >= shares.calls_max()
          ? absl::StrCat("the server's event loop has ", shares.calls(), " calls in flight, its limit")
          : absl::StrCat("the server's event loop has ", shares.calls(), " calls in flight, and the client has its ",
                         "share; the rest up to ", shares.calls_max(), " is for clients with fewer"));
}

ServerSession::Decision ServerSession::Reject(absl::Status status) {
  ++tally_->refused;
  if (++rejections_ > options_.calls_max + kRejectionsBeyondCallsMax) {
    actions_.Push({ActionKind::kAbort});
  }
  SetCertainty(&status, Certainty::kNotSent);
  Decision decision;
  decision.admission = Admission::kReject;
  decision.status = std::move(status);
  return decision;
}

ServerSession::Decision ServerSession::Drop() {
  ++tally_->dropped;
  return Decision();
}

// Not inlined: the calls that are answered pass where it is called.
void ServerSession::ReleaseUnanswered(uint64_t local, const Call& call) { Release(local, call); }

ServerSession::Decision ServerSession::OnFetchFailed(uint64_t call_id, const absl::Status& status) {
  const std::optional<uint64_t> local = locals_.Find(call_id);
  if (!local.has_value()) return Decision();
  const Call& call = calls_.At(*local);
  const State state = call.state;
  if (state != State::kFetching && state != State::kAbandonedFetch) return Decision();
  Release(*local, call);
  if (state == State::kAbandonedFetch) return Decision();  // Counted when it was abandoned.
  if (!absl::IsResourceExhausted(status)) return Drop();
  return Reject(absl::ResourceExhaustedError(absl::StrCat("the server did not fetch the request: ", status.message())));
}

void ServerSession::OnCancel(uint64_t call_id) {
  if (const std::optional<uint64_t> local = locals_.Find(call_id)) Abandon(*local, calls_.At(*local));
}

void ServerSession::OnTime(absl::Time now) {
  while (const std::optional<uint64_t> local = deadlines_.PopExpired(now)) Abandon(*local, calls_.At(*local));
}

void ServerSession::Abandon(uint64_t local, Call& call) {
  switch (call.state) {
    case State::kFetching:
      ++tally_->dropped;
      call.state = State::kAbandonedFetch;
      actions_.Push({ActionKind::kCancelFetch, local, call.call_id});
      return;
    case State::kRunning:
      call.state = State::kAbandoned;
      actions_.Push({ActionKind::kMarkCancelled, local, call.call_id});
      return;
    case State::kResponding:
      actions_.Push({ActionKind::kCancelSend, local, call.call_id});
      return;
    case State::kAbandonedFetch:
    case State::kAbandoned:
      return;
  }
}

void ServerSession::OnClosed() {
  std::vector<uint64_t> released;
  calls_.ForEach([&](uint64_t local, Call& call) {
    if (call.state == State::kRunning) Abandon(local, call);
    if (call.state != State::kAbandoned) released.push_back(local);
  });
  for (const uint64_t local : released) Release(local, calls_.At(local));
  rejections_ = 0;
}

std::optional<uint64_t> ServerSession::FindRunning(uint64_t call_id) {
  const std::optional<uint64_t> local = locals_.Find(call_id);
  if (!local.has_value() || calls_.At(*local).state != State::kRunning) return std::nullopt;
  return local;
}

ServerSession::Decision ServerSession::OnStreamFailed(uint64_t local, const absl::Status& status) {
  Abandon(local, calls_.At(local));
  Decision decision = Reject(status);
  SetCertainty(&decision.status, Certainty::kOutcomeUnknown);
  return decision;
}

}  // namespace verbena::rpc
