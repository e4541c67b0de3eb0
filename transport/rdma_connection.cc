#include "transport/rdma_connection.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "transport/connection_handle.h"
#include "transport/log.h"

namespace verbena::transport {
namespace {

const std::shared_ptr<const PeerIdentity>& Nobody() {
  static const auto* const nobody = new std::shared_ptr<const PeerIdentity>(std::make_shared<PeerIdentity>());
  return *nobody;
}

// Larger frames gain nothing: what they cost is their bytes. And the first of a SEND waits for the last to be written.
constexpr uint32_t kPackedBytesMax = 4096;

// The peer's receive buffer is no longer than our send buffers: ConnectionSetup sees to it.
uint32_t PackedBytesMax(const protocol::ConnectionConfig& config) {
  if (config.packing() == wire::Packing::kNone) return 0;
  return std::min(kPackedBytesMax, config.peers.receive_buffer_bytes);
}

}  // namespace

std::shared_ptr<RdmaConnection> RdmaConnection::TakeOver(Parts parts) {
  auto connection = std::make_shared<RdmaConnection>(std::move(parts));
  connection->self_ = connection;
  connection->link_->set_owner(connection.get());
  connection->MarkDirty();  // For the early frames, and the timer.
  return connection;
}

std::unique_ptr<Connection> RdmaConnection::Create(Parts parts) {
  return std::make_unique<ConnectionHandle>(TakeOver(std::move(parts)));
}

void RdmaConnection::Authenticate(Parts parts, AuthenticatedCallback done) {
  TakeOver(std::move(parts))->on_authenticated_ = std::move(done);
}

RdmaConnection::RdmaConnection(Parts parts)
    : keeps_group_(std::move(parts.group)),
      group_(*keeps_group_),
      link_(std::move(parts.link)),
      epoch_(parts.config.ours.epoch),
      checksum_(parts.config.Agreed(wire::kFeatureChecksum)),
      packing_(parts.config.packing()),
      packed_bytes_max_(PackedBytesMax(parts.config)),
      peer_(std::move(parts.peer)),
      early_sends_(std::move(parts.early_sends)),
      machine_(parts.config, std::move(parts.share), group_.loop()->Now()),
      authentication_(std::move(parts.authentication)),
      peer_identity_(Nobody()),
      timer_(group_.loop(), this),
      read_chunk_bytes_(parts.config.read_chunk_bytes) {
  if (parts.config.Agreed(wire::kFeatureSolicited)) link_->OnPeerSolicits();
}

RdmaConnection::~RdmaConnection() {
  inbound_.ForEach([this](Inbound& inbound) {
    LeaveFetchWindow(inbound);
    group_.fetch_budget().Cancel(inbound.request);
  });
  outbound_.ForEach([this](Outbound& outbound) { CancelExport(outbound); });
}

// --- From the handle.

void RdmaConnection::CancelSend(uint64_t send_id) {
  machine_.CancelSend(send_id, loop()->Now());
  link_->AwaitSends();  // It may have left.
  MarkDirty();
}

void RdmaConnection::CancelFetch(uint64_t call_id) {
  machine_.CancelFetch(call_id);
  MarkDirty();
}

void RdmaConnection::Drain() {
  machine_.Drain(loop()->Now());
  MarkDirty();
}

void RdmaConnection::Abort(absl::Status status) {
  machine_.Abort(std::move(status), loop()->Now());
  MarkDirty();
}

void RdmaConnection::Detach() {
  handler_ = nullptr;
  // Payloads may go with their sender: nothing reads them from here on. The connection ends before a frame could miss
  // them.
  outbound_.ForEach([this](Outbound& outbound) {
    outbound.DropSource();
    CancelExport(outbound);
  });
  Abort(absl::CancelledError("the connection was dropped by its owner"));
}

// --- From the link.

void RdmaConnection::OnCmEvent(verbs::CmEvent& event) {
  const absl::Status failure = event.Failure();
  if (failure.ok() || link_->ending()) return;
  // What the peer sent before it went is still in the completion queue: handle it first.
  group_.Defer([connection = shared_from_this(), failure] { connection->OnFailure(failure); });
}

void RdmaConnection::OnSendsDone(uint32_t count) {
  machine_.OnSendCompleted(count, loop()->Now());
  if (AnythingDue()) MarkDirty();
}

void RdmaConnection::OnReadDone(uint64_t fetch_id) {
  machine_.OnReadCompleted(fetch_id, true);
  MarkDirty();
  group_.landing_holders().OnRead(link_->number(), read_chunk_bytes_, loop()->Now());
  if (!machine_.HasLanded(fetch_id)) return;
  // Of many fetches some are under way beside these in any case.
  const bool few = inbound_.size() <= SendList::kCapacity;
  landing_splitter_.OnMessage(announced_to_waiting_ && few);
  if (landing_splitter_.OnAnswer()) {
    Perform();
    link_->Flush();
  }
}

void RdmaConnection::OnFailure(const absl::Status& status) {
  if (link_->ending()) return;
  if (end_status_.ok()) end_status_ = status;
  link_->End();
}

void RdmaConnection::OnTurnEnd() {
  dirty_ = false;
  if (!early_sends_.empty()) HandleEarlySends();
  splitter_.OnTurnEnd();
  landing_splitter_.OnTurnEnd();
  if (exports_due_) {
    BindExports();
    TellWritten();
    exports_due_ = !unbound_.empty() || !written_.empty();
  }
  Perform();
  link_->Flush();
  if (machine_.TakeDeadlineNews()) ArmTimer();
}

void RdmaConnection::HandleEarlySends() {
  for (const EarlySend& send : std::exchange(early_sends_, {})) {
    OnSendArrived(send.receive, send.bytes);
    link_->receives().Repost(send.receive);
  }
}

void RdmaConnection::OnGrantsWakeup() {
  machine_.OnBudgetWakeup();
  MarkDirty();
}

void RdmaConnection::OnMemoryStalled(const absl::Status& why) {
  if (link_->ending() || !machine_.end_status().ok()) return;  // It takes its time to end, for another reason perhaps.
  Log(Severity::kWarning, absl::StrCat(peer_, ": connection closed: ", why.message()));
  Abort(why);
}

void RdmaConnection::OnEnded() {
  for (const EarlySend& send : early_sends_) link_->receives().RepostUnseen(send.receive);
  early_sends_.clear();
  machine_.OnDisconnected(end_status_);
  Perform();
  while (!taken_back_.empty()) FinishTakingBack(taken_back_.Pop());
  timer_.Cancel();
  group_.ReleaseConnection();
  // The link that calls this is ours: it goes when nothing of it is on the stack.
  group_.Defer([self = std::move(self_)] {});
}

// --- The turn.

void RdmaConnection::MarkDirty() {
  if (dirty_) return;
  dirty_ = true;
  group_.MarkDirty(link_->number());
}

void RdmaConnection::Perform() {
  if (performing_) return;  // Within a call-back of an action: the loop below goes on.
  performing_ = true;
  machine_.HoldMessages(MessagesHeld());  // Each frame looks again.
  while (std::optional<protocol::Action> action = machine_.NextAction(link_->room())) {
    std::visit([this](const auto& what) { Do(what); }, *action);
  }
  performing_ = false;
  if (machine_.messages_held() && !link_->ending() && !machine_.idle()) link_->WaitForSendBuffer();
}

void RdmaConnection::ArmTimer() {
  if (!link_->ending()) timer_.SetBy(machine_.NextDeadline());
}

void RdmaConnection::OnTimer() {
  const absl::Time now = loop()->Now();
  if (machine_.NextDeadline() <= now) machine_.OnDeadline(now);
  ArmTimer();
  MarkDirty();
}

// --- Actions: the connection.

void RdmaConnection::Do(const protocol::PeerDraining&) {
  if (handler_ != nullptr) handler_->OnPeerDraining();
}

void RdmaConnection::Do(const protocol::Disconnect&) {
  if (const absl::Status& status = machine_.end_status();
      absl::IsInvalidArgument(status)) {  // The peer broke the protocol.
    group_.counters().protocol_errors.Add(1);
    if (on_authenticated_ == nullptr) {  // Else it is told, and says so.
      Log(Severity::kWarning, absl::StrCat(peer_, ": connection closed: ", status.message()));
    }
  }
  link_->End();
}

void RdmaConnection::Do(const protocol::Closed&) {
  authentication_.reset();
  if (AuthenticatedCallback done = std::exchange(on_authenticated_, nullptr)) {
    return done(refusal_.ok() ? machine_.end_status() : refusal_);
  }
  if (ConnectionHandler* const handler = std::exchange(handler_, nullptr); handler != nullptr) {
    handler->OnClosed(machine_.end_status());
  }
}

}  // namespace verbena::transport
