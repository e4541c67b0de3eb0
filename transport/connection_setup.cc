#include "transport/connection_setup.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"

namespace verbena::transport {
namespace {

// SENDs of one connection in flight at once, control frames included.
constexpr uint32_t kSendSlots = 128;
// Grants that a new connection is given at once, where there are enough.
constexpr uint16_t kInitialCredits = 16;
// The part of a loop's exported memory that one connection may have in quarantine: what is withdrawn cannot serve
// anybody, and its peer alone decides for how long.
constexpr uint64_t kQuarantineShare = 4;
// Retries of the device itself, where it counts them; with the first attempt, the seven of
// TransportOptions::ack_timeout. One more is the most that InfiniBand knows, and Soft-RoCE takes that for "for ever".
constexpr uint8_t kRetryCount = 6;

// The set-ups of one loop that are under way. A loop that is destroyed takes them with it.
using PendingSetups = absl::flat_hash_set<std::shared_ptr<ConnectionSetup>>;

PendingSetups& PendingSetupsOf(EventLoop* loop) {
  static const char key = 0;
  std::shared_ptr<void>& local = loop->Local(&key);
  if (local == nullptr) local = std::make_shared<PendingSetups>();
  return *static_cast<PendingSetups*>(local.get());
}

}  // namespace

protocol::HandshakeOptions MakeHandshakeOptions(const TransportOptions& options, const AuthenticationPolicy& policy,
                                                const ReadSizes& reads) {
  protocol::HandshakeOptions handshake;
  handshake.features = wire::kFeaturePacking | wire::kFeatureRendezvousPacking | wire::kFeatureSolicited;
  if (options.checksum_payloads) handshake.features |= wire::kFeatureChecksum;
  if (policy.authenticator != nullptr) handshake.features |= wire::kFeatureAuthentication;
  handshake.receive_buffer_bytes = options.receive_buffer_bytes;
  handshake.read_depth = reads.depth;
  const int64_t keepalive_ms = absl::ToInt64Milliseconds(options.keepalive_interval);
  handshake.keepalive_ms = static_cast<uint32_t>(std::clamp<int64_t>(keepalive_ms, 0, 0xffffffff));
  return handshake;
}

absl::StatusOr<std::shared_ptr<PollGroup>> GroupFor(EventLoop* loop, const verbs::ConnectionId& id,
                                                    const DeviceCandidate& candidate, const TransportOptions& options) {
  absl::StatusOr<std::shared_ptr<DeviceContext>> device = DeviceContext::For(id);
  if (!device.ok()) return device.status();
  const std::string& name = (*device)->device().name();
  if (!candidate.device_name.empty() && candidate.device_name != name) {
    return absl::FailedPreconditionError(
        absl::StrCat("the address is reached through ", name, ", the device option says ", candidate.device_name));
  }
  return PollGroup::For(loop, *std::move(device), options);
}

ConnectionSetup::~ConnectionSetup() = default;

void ConnectionSetup::Begin(const CmChannel* channel) {
  pending_ = true;
  PendingSetupsOf(loop_).insert(shared_from_this());
  deadline_ = loop_->ReadNow() + options_.handshake_timeout;
  timer_ = loop_->AddTimer(deadline_, [this, channel] { OnTime(channel); });
}

void ConnectionSetup::OnTime(const CmChannel* channel) {
  timer_ = 0;
  if (!channel->behind() || !TakeMoreTime()) return GiveUp(Waiting());
  timer_ = loop_->AddTimer(deadline_, [this, channel] { OnTime(channel); });
}

void ConnectionSetup::GiveUp(absl::string_view waiting) {
  Finish(absl::DeadlineExceededError(
      absl::StrCat("no connection within ", had_more_time_ ? "twice " : "", "the handshake_timeout of ",
                   absl::FormatDuration(options_.handshake_timeout), ": still waiting for ", waiting)));
}

bool ConnectionSetup::TakeMoreTime() {
  if (std::exchange(had_more_time_, true)) return false;
  deadline_ = loop_->ReadNow() + options_.handshake_timeout;
  return true;
}

absl::Status ConnectionSetup::FindGroup(const verbs::ConnectionId& id) {
  absl::StatusOr<std::shared_ptr<PollGroup>> group = GroupFor(loop_, id, candidate_, options_);
  if (group.ok()) group_ = *std::move(group);
  return group.status();
}

absl::Status ConnectionSetup::MakeLink(CmChannel* channel, verbs::ConnectionId&& id) {
  if (absl::Status status = group_->ReserveConnection(); !status.ok()) return status;
  reserved_ = true;
  absl::StatusOr<std::unique_ptr<Link>> link =
      Link::Create(group_.get(), channel, std::move(id), this, kSendSlots, read_sizes().depth);
  if (!link.ok()) return link.status();
  link_ = *std::move(link);
  // Who is not authenticated gets no more than it needs for that.
  const uint16_t credits = policy_.authenticator != nullptr ? protocol::kCreditsPerConnectionMin : kInitialCredits;
  absl::StatusOr<protocol::GrantShare> share = link_->receives().grants().Admit(link_->number(), credits);
  if (!share.ok()) return share.status();
  share_ = *std::move(share);
  return absl::OkStatus();
}

verbs::ConnectionParameters ConnectionSetup::Parameters(absl::Span<const std::byte> private_data) const {
  verbs::ConnectionParameters parameters;
  parameters.private_data = private_data;
  parameters.responder_resources = parameters.initiator_depth = static_cast<uint8_t>(read_sizes().depth);
  parameters.retry_count = kRetryCount;
  parameters.rnr_retry_count = options_.rnr_retry_count;
  return parameters;
}

std::string ConnectionSetup::PeerName() const {
  return absl::StrCat(ToString(candidate_.scheme), "://", link_->id().PeerAddress());
}

bool ConnectionSetup::OnSendArrived(uint32_t receive, absl::Span<const std::byte> bytes) {
  if (!pending_ || early_sends_.size() >= share_.granted()) {  // Each would take a receive granted to another peer.
    link_->receives().RepostUnseen(receive);
    Finish(absl::InvalidArgumentError("the peer sent frames beyond its credits before the connection was made"));
    return false;
  }
  early_sends_.push_back(EarlySend{receive, bytes});
  return false;
}

RdmaConnection::Parts ConnectionSetup::TakeParts(const protocol::Agreement& agreement, bool initiator) {
  RdmaConnection::Parts parts;
  parts.group = group_;
  parts.peer = PeerName();
  link_->OnEstablished();
  parts.link = std::move(link_);
  parts.config.initiator = initiator;
  parts.config.ours = agreement.ours;
  parts.config.peers = agreement.peers;
  // Frames are written in this side's buffers, however long the peer's are.
  parts.config.peers.receive_buffer_bytes =
      std::min<uint32_t>(agreement.peers.receive_buffer_bytes, static_cast<uint32_t>(group_->send_buffer_bytes()));
  parts.config.message_bytes_max = options_.message_bytes_max;
  parts.config.quarantine_bytes_max = options_.export_bytes_max / kQuarantineShare;
  // What the peer's loop fetches at a time, if it is set up as ours is, and as much again.
  const ReadSizes reads = read_sizes();
  parts.config.offered_bytes = 2 * reads.window_bytes;
  parts.config.exports_revocable = group_->device().has_windows();
  parts.config.read_chunk_bytes = reads.chunk_bytes;
  parts.config.send_slots = kSendSlots;
  parts.config.keepalive_timeout = options_.keepalive_timeout;
  parts.config.drain_timeout = options_.drain_timeout;
  parts.share = std::move(share_);
  parts.early_sends = std::exchange(early_sends_, {});
  reserved_ = false;  // The connection's to release from here on.
  return parts;
}

void ConnectionSetup::Succeed(const protocol::Agreement& agreement, bool initiator) {
  if ((agreement.features & wire::kFeatureAuthentication) == 0) {
    return Finish(RdmaConnection::Create(TakeParts(agreement, initiator)));
  }
  UnauthenticatedPeer peer;
  peer.epoch = agreement.ours.epoch;
  peer.address = PeerName();
  if (const absl::StatusOr<ucred> process = link_->id().PeerCredentials(); process.ok()) {
    peer.process = ProcessCredentials{process->uid, process->gid, process->pid};
  }
  absl::StatusOr<std::unique_ptr<AuthenticationRun>> run = AuthenticationRun::Begin(loop_, policy_, initiator, peer);
  if (!run.ok()) return Finish(absl::UnauthenticatedError(run.status().message()));
  // The loop was held up: that is not the peer's doing.
  if (loop_->ReadNow() >= deadline_ && !TakeMoreTime()) return GiveUp("authentication");
  RdmaConnection::Parts parts = TakeParts(agreement, initiator);
  parts.authentication = *std::move(run);
  // The connection keeps the deadline from here on.
  loop_->CancelTimer(std::exchange(timer_, 0));
  parts.config.authentication_timeout = deadline_ - loop_->Now();
  RdmaConnection::Authenticate(std::move(parts),
                               [self = shared_from_this(), this](absl::StatusOr<std::unique_ptr<Connection>> outcome) {
                                 Finish(std::move(outcome));
                               });
}

void ConnectionSetup::Finish(absl::StatusOr<std::unique_ptr<Connection>> outcome) {
  if (!std::exchange(pending_, false)) return;  // It ended already.
  loop_->CancelTimer(timer_);
  for (const EarlySend& send : early_sends_) link_->receives().RepostUnseen(send.receive);
  early_sends_.clear();
  const bool has_link = link_ != nullptr;
  if (has_link) link_->End();
  Done(std::move(outcome));
  if (!has_link) LetGo();
}

void ConnectionSetup::OnEnded() {
  // As it is already, unless the loop goes: then nothing more comes of it.
  if (std::exchange(pending_, false)) loop_->CancelTimer(timer_);
  share_ = protocol::GrantShare();
  LetGo();
}

void ConnectionSetup::LetGo() {
  if (std::exchange(reserved_, false)) group_->ReleaseConnection();
  // When nothing of this and the link is on the stack: the link may be what calls.
  loop_->Post([loop = loop_, weak = weak_from_this()] {
    if (const auto self = weak.lock(); self != nullptr) PendingSetupsOf(loop).erase(self);
  });
}

}  // namespace verbena::transport
