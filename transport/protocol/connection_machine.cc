#include "transport/protocol/connection_machine.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "absl/strings/str_cat.h"

namespace verbena::protocol {

namespace {

using wire::FrameHeader;
using wire::FrameType;
using wire::GoodbyeReason;

RendezvousReceiver::Limits FetchLimits(const ConnectionConfig& config) {
  const uint16_t depth = std::max<uint16_t>(1, std::min(config.ours.read_depth, config.peers.read_depth));
  return {config.message_bytes_max, config.read_chunk_bytes, depth};
}

uint16_t AnnounceFlags(const ConnectionConfig& config) {
  return config.Agreed(wire::kFeatureChecksum) ? wire::kFlagChecksum : 0;
}

absl::Status MessageAfterDrain() {
  return absl::InvalidArgumentError("protocol error: the peer sent a message after its kDrain");
}

}  // namespace

ConnectionMachine::ConnectionMachine(const ConnectionConfig& config, GrantShare share, absl::Time now)
    : config_(config),
      state_(config.Agreed(wire::kFeatureAuthentication) ? State::kAuthenticating : State::kOpen),
      now_(now),
      keepalive_(absl::Milliseconds(config.ours.keepalive_ms), config.keepalive_timeout, now),
      credits_(config.initiator, config.peers.initial_credits, std::move(share)),
      slots_(config.send_slots),
      authentication_(config.initiator, config.peers.receive_buffer_bytes, now + config.authentication_timeout),
      eager_(&actions_),
      announcer_({config.peers.receive_buffer_bytes, config.quarantine_bytes_max, config.offered_bytes},
                 config.exports_revocable, AnnounceFlags(config), &actions_),
      fetcher_(FetchLimits(config), config.ours.epoch, &actions_),
      drain_(config.drain_timeout),
      quarantine_(config.quarantine_timeout),
      packs_rendezvous_(config.packing() == wire::Packing::kRendezvous) {
  assert(config.ours.epoch == config.peers.epoch);
  assert(config.peers.receive_buffer_bytes >= kReceiveBufferBytesMin);
  if (state_ == State::kAuthenticating && config.initiator) actions_.Push(AskAuthenticator{"", false});
  OnBudgetWakeup();  // The budget may have asked while the connection was being set up.
}

size_t ConnectionMachine::header_bytes_max() const {
  const size_t room =
      config_.peers.receive_buffer_bytes - wire::kFrameHeaderBytes - kSegmentsRoomMin * wire::kSegmentBytes;
  return std::min(room, wire::kCallHeaderBytesMax);
}

bool ConnectionMachine::idle() const {
  const bool authenticating = state_ == State::kAuthenticating && authentication_.FrameDue();
  return !authenticating && actions_.empty() && eager_.empty() && announcer_.empty() && fetcher_.empty();
}

// --- Commands.

uint64_t ConnectionMachine::Send(const SendHead& head) {
  StirUp();
  assert(head.header_bytes <= header_bytes_max());
  const size_t sends_max = size_t{config_.pending_sends_max} * (head.refusable ? 1 : 2);
  const bool has_room = eager_.size() + announcer_.size() < sends_max;
  if (!has_room && !head.refusable) EndOverfull();
  const bool accepted =
      state_ == State::kOpen && !drain_.requested() && head.payload_bytes <= config_.message_bytes_max && has_room;
  if (accepted && !IsEager(head)) return announcer_.Add(head);
  const uint64_t send_id = eager_.Add(head);
  if (!accepted) eager_.Cancel(send_id);
  return send_id;
}

void ConnectionMachine::CancelSend(uint64_t send_id, absl::Time now) {
  StirUp();
  if (state_ == State::kClosed) return;
  eager_.Cancel(send_id);
  announcer_.Cancel(send_id);
  quarantine_.OnCount(announcer_.quarantined(), now);
  if (announcer_.quarantine_full()) EndQuarantine(now);
}

void ConnectionMachine::CancelFetch(uint64_t call_id) {
  StirUp();
  if (state_ != State::kClosed) fetcher_.Cancel(call_id);
}

void ConnectionMachine::Drain(absl::Time now) {
  StirUp();
  now_ = now;
  drain_.Request(now);
}

void ConnectionMachine::Abort(absl::Status status, absl::Time now) {
  SayGoodbye(std::move(status), GoodbyeReason::kShutdown, now);
}

// --- Events.

void ConnectionMachine::OnMalformedFrame(absl::Status status, absl::Time now) {
  SayGoodbye(std::move(status), GoodbyeReason::kProtocolError, now);
}

absl::Status ConnectionMachine::Dispatch(const wire::FrameView& frame, absl::Time now) {
  if (state_ == State::kAuthenticating) return DispatchAuthentication(frame);
  const bool late = state_ == State::kGoodbye;  // Only the end itself, and the credits, still matter.
  if (late && frame.header.type != FrameType::kGoodbye && frame.header.type != FrameType::kReturn) {
    return absl::OkStatus();
  }
  switch (frame.header.type) {
    case FrameType::kEager:
      return MessageAfterDrain();  // The others go from OnFrame to the driver.
    case FrameType::kAnnounce:
      return OnPeerAnnounce(frame, now);
    case FrameType::kFinish:
      return OnPeerFinish(frame.header, now);
    case FrameType::kWithdraw:
      return fetcher_.OnWithdraw(frame.header);
    case FrameType::kReturn:
      return credits_.OnReturned(frame.header.aux);
    case FrameType::kGrant:
    case FrameType::kPong:
      return absl::OkStatus();
    case FrameType::kReclaim:
      control_.Add(ControlFrames::kReturn);
      return absl::OkStatus();
    case FrameType::kPing:
      control_.Add(ControlFrames::kPong);
      return absl::OkStatus();
    case FrameType::kDrain:
      OnPeerDrain(now);
      return absl::OkStatus();
    case FrameType::kGoodbye:
      OnPeerGoodbye(frame);
      return absl::OkStatus();
    case FrameType::kAuthenticate:
      return absl::InvalidArgumentError("protocol error: a message of an authentication that is over");
  }
  return absl::InvalidArgumentError("protocol error: a frame of an unknown type");
}

absl::Status ConnectionMachine::OnPeerAnnounce(const wire::FrameView& frame, absl::Time now) {
  if (drain_.peer_drained()) return MessageAfterDrain();
  credits_.OnMessage(now);
  return fetcher_.OnAnnounce(frame);
}

absl::Status ConnectionMachine::OnPeerFinish(const FrameHeader& finish, absl::Time now) {
  absl::Status status = announcer_.OnFinish(finish);
  quarantine_.OnCount(announcer_.quarantined(), now);
  return status;
}

void ConnectionMachine::OnPeerDrain(absl::Time now) {
  if (drain_.peer_drained()) return;
  drain_.OnPeerDrain();
  drain_.Request(now);
  actions_.Push(PeerDraining());
}

void ConnectionMachine::OnPeerGoodbye(const wire::FrameView& frame) {
  const auto reason = static_cast<GoodbyeReason>(frame.header.aux);
  const bool finished = drain_.agreed() && announcer_.empty() && fetcher_.empty() && !eager_.HasFrame();
  if (reason == GoodbyeReason::kClosed && finished) {
    EndPosted(SendOutcome::kDelivered);  // The peer's Goodbye follows our kDrain, which follows our last message.
    return StartDisconnect(absl::OkStatus());
  }
  const bool refused = state_ == State::kAuthenticating && reason == GoodbyeReason::kAuthenticationFailed;
  const std::string words = ReadGoodbyeWords(frame.call_header);
  StartDisconnect(absl::Status(
      refused ? absl::StatusCode::kUnauthenticated : absl::StatusCode::kUnavailable,
      absl::StrCat("the peer closed the connection: ", wire::ToString(reason), words.empty() ? "" : ": ", words)));
}

void ConnectionMachine::OnSendCompleted(uint32_t count, absl::Time now) {
  now_ = now;
  for (; count > 0 && state_ != State::kClosed; --count) {
    slots_.Complete([this](uint64_t send_id) {
      StirUp();
      eager_.EndPosted(send_id, SendOutcome::kDelivered);
    });
  }
  if (state_ == State::kGoodbye && !control_.due(ControlFrames::kGoodbye) && slots_.posted() == 0)
    StartDisconnect(goodbye_.status());
}

void ConnectionMachine::OnReadCompleted(uint64_t fetch_id, bool ok) {
  StirUp();
  if (state_ == State::kClosed) return;
  if (fetcher_.OnReadCompleted(fetch_id, ok)) return;
  StartDisconnect(absl::UnavailableError("an RDMA READ failed, and with it the queue pair"));
}

void ConnectionMachine::OnDisconnected(absl::Status status) {
  StirUp();
  if (state_ == State::kClosed) return;
  if (live()) {
    goodbye_.set_status(status.ok() ? absl::UnavailableError("the connection was lost") : std::move(status));
  }
  state_ = State::kClosed;
  EndPosted(SendOutcome::kUnknown);
  eager_.Close();
  announcer_.Close();
  fetcher_.Close();
  credits_.ReleaseShare();
  closed_due_ = true;
}

void ConnectionMachine::OnExported(uint64_t send_id, absl::Span<const wire::Segment> segments) {
  StirUp();
  announcer_.OnExported(send_id, segments);
}

void ConnectionMachine::OnExportFailed(uint64_t send_id) {
  StirUp();
  announcer_.OnExportFailed(send_id);
}

void ConnectionMachine::OnVerdict(uint64_t fetch_id, Verdict verdict) {
  StirUp();
  fetcher_.OnVerdict(fetch_id, verdict);
}

void ConnectionMachine::OnLanding(uint64_t fetch_id) {
  StirUp();
  fetcher_.OnLanding(fetch_id);
}

void ConnectionMachine::OnLandingFailed(uint64_t fetch_id) {
  StirUp();
  fetcher_.OnLandingFailed(fetch_id);
}

void ConnectionMachine::OnIdentity(uint64_t fetch_id, bool ok) {
  StirUp();
  fetcher_.OnIdentity(fetch_id, ok);
}

void ConnectionMachine::OnBudgetWakeup() {
  StirUp();
  if (state_ == State::kOpen && credits_.TakeReclaimWanted()) control_.Add(ControlFrames::kReclaim);
}

void ConnectionMachine::OnDeadline(absl::Time now) {
  StirUp();
  if (state_ == State::kGoodbye && now >= goodbye_.deadline()) StartDisconnect(goodbye_.status());
  if (state_ == State::kAuthenticating && now >= authentication_.deadline()) {
    SayGoodbye(absl::DeadlineExceededError("the authentication was not finished in time"), GoodbyeReason::kShutdown,
               now);
  }
  if (state_ != State::kOpen) return;
  if (now >= drain_.Deadline()) {
    SayGoodbye(absl::DeadlineExceededError("the connection did not drain in time"), GoodbyeReason::kShutdown, now);
    return;
  }
  if (now >= quarantine_.Deadline()) return EndQuarantine(now);
  switch (keepalive_.Judge(now)) {
    case Keepalive::Judgement::kAlive:
      return;
    case Keepalive::Judgement::kProbe:
      control_.Add(ControlFrames::kPing);
      return;
    case Keepalive::Judgement::kDead:
      StartDisconnect(absl::UnavailableError("the peer does not answer: a keepalive probe timed out"));
      return;
  }
}

absl::Time ConnectionMachine::NextDeadline() const {
  switch (state_) {
    case State::kAuthenticating:
      return authentication_.deadline();
    case State::kOpen:
      return std::min({keepalive_.Deadline(), drain_.Deadline(), quarantine_.Deadline()});
    case State::kGoodbye:
      return goodbye_.deadline();
    case State::kDisconnecting:
    case State::kClosed:
      return absl::InfiniteFuture();
  }
  return absl::InfiniteFuture();
}

// --- The end.

void ConnectionMachine::EndPosted(SendOutcome outcome) {
  slots_.ForEach([this, outcome](uint64_t send_id) { eager_.EndPosted(send_id, outcome); });
}

bool ConnectionMachine::DrainedBothWays() const {
  return drain_.agreed() && eager_.empty() && announcer_.empty() && fetcher_.empty() && slots_.posted() == 0;
}

void ConnectionMachine::SayGoodbye(absl::Status status, GoodbyeReason reason, absl::Time now) {
  StirUp();
  if (!live()) return;
  state_ = State::kGoodbye;
  goodbye_.Decide(std::move(status), reason, now + config_.goodbye_timeout);
  control_.Add(ControlFrames::kGoodbye);
}

void ConnectionMachine::EndOverfull() {
  SayGoodbye(absl::ResourceExhaustedError(absl::StrCat(
                 eager_.size() + announcer_.size(),
                 " messages wait to be sent and reported, and one more that must not be lost: the peer takes too few")),
             GoodbyeReason::kShutdown, now_);
}

void ConnectionMachine::EndQuarantine(absl::Time now) {
  SayGoodbye(absl::UnavailableError("the peer holds on to too much withdrawn memory: its quarantine is full"),
             GoodbyeReason::kQuarantineFull, now);
}

void ConnectionMachine::StartDisconnect(absl::Status status) {
  StirUp();
  if (state_ == State::kDisconnecting || state_ == State::kClosed) return;
  if (live()) goodbye_.set_status(std::move(status));
  state_ = State::kDisconnecting;
  actions_.Push(Disconnect());
}

}  // namespace verbena::protocol
