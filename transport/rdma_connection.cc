#include "transport/rdma_connection.h"

#include <optional>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "transport/connection_handle.h"
#include "transport/log.h"

namespace verbena::transport {

std::unique_ptr<Connection> RdmaConnection::Create(Parts parts) {
  auto connection = std::make_shared<RdmaConnection>(std::move(parts));
  connection->self_ = connection;
  connection->link_->set_owner(connection.get());
  connection->MarkDirty();  // For the early frames, and the timer.
  return std::make_unique<ConnectionHandle>(std::move(connection));
}

RdmaConnection::RdmaConnection(Parts parts)
    : group_(*parts.group),
      link_(std::move(parts.link)),
      epoch_(parts.config.ours.epoch),
      checksum_((parts.config.ours.features & parts.config.peers.features & wire::kFeatureChecksum) != 0),
      peer_(std::move(parts.peer)),
      machine_(parts.config, std::move(parts.share), parts.group->loop()->Now()),
      early_frames_(std::move(parts.early_frames)) {}

RdmaConnection::~RdmaConnection() = default;

// --- From the handle.

uint64_t RdmaConnection::Send(OutboundMessage message) {
  protocol::SendHead head;
  head.message_kind = message.kind;
  head.call_id = message.call_id;
  head.header_bytes = static_cast<uint16_t>(message.header.size());
  head.payload_bytes = (message.payload == nullptr ? 0 : message.payload->size()) + message.attachment.size();
  const uint64_t send_id = machine_.Send(head);
  outbound_.Add(send_id).Assign(std::move(message));
  group_.counters().sends_queued.Add(1);
  MarkDirty();
  return send_id;
}

void RdmaConnection::CancelSend(uint64_t send_id) {
  machine_.CancelSend(send_id, loop()->Now());
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
  outbound_.ForEach([](Outbound& outbound) { outbound.payload = nullptr; });
  Abort(absl::CancelledError("the connection was dropped by its owner"));
}

// --- From the link.

void RdmaConnection::OnCmEvent(verbs::CmEvent& event) {
  const absl::Status failure = event.Failure();
  if (failure.ok() || link_->ending()) return;
  // What the peer sent before it went is still in the completion queue: handle it first.
  group_.Defer([connection = shared_from_this(), failure] { connection->OnFailure(failure); });
}

bool RdmaConnection::OnFrame(uint32_t receive, absl::Span<const std::byte> bytes) {
  if (!early_frames_.empty()) {
    early_frames_.push_back(EarlyFrame{receive, bytes});
    return false;
  }
  const absl::StatusOr<wire::FrameView> frame = wire::DecodeFrame(bytes);
  if (frame.ok()) {
    machine_.OnFrame(*frame, loop()->Now());
  } else {
    machine_.OnMalformedFrame(frame.status(), loop()->Now());
  }
  Perform();    // At once: deliveries point into the frame.
  MarkDirty();  // One doorbell for all frames of this turn.
  return true;
}

void RdmaConnection::OnFrameSent() {
  machine_.OnSendCompleted(1, loop()->Now());
  MarkDirty();
}

void RdmaConnection::OnReadDone(uint64_t fetch_id) {
  machine_.OnReadCompleted(fetch_id, true);
  MarkDirty();
}

void RdmaConnection::OnFailure(const absl::Status& status) {
  if (link_->ending()) return;
  if (end_status_.ok()) end_status_ = status;
  link_->End();
}

void RdmaConnection::OnTurnEnd() {
  dirty_ = false;
  std::vector<EarlyFrame> early;
  early.swap(early_frames_);
  for (const EarlyFrame& frame : early) {
    OnFrame(frame.receive, frame.bytes);
    group_.RepostReceive(frame.receive);
  }
  Perform();
  link_->Flush();
  ArmTimer();
}

void RdmaConnection::OnGrantsWakeup() {
  machine_.OnBudgetWakeup();
  MarkDirty();
}

void RdmaConnection::OnExportsStalled(const absl::Status& why) {
  Log(Severity::kWarning, absl::StrCat(peer_, ": connection closed: ", why.message()));
  Abort(why);
}

void RdmaConnection::OnEnded() {
  for (const EarlyFrame& frame : early_frames_) group_.RepostUnseen(frame.receive);
  early_frames_.clear();
  machine_.OnDisconnected(end_status_);
  Perform();
  loop()->CancelTimer(timer_);
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
  if (performing_) return;  // A handler that sends from within a call-back: the loop below sees it.
  performing_ = true;
  const auto held = [this] { return link_->ending() || !link_->MayTakeSendBuffer(); };
  machine_.HoldMessages(held());
  while (std::optional<protocol::Action> action = machine_.NextAction()) {
    std::visit([this](const auto& what) { Do(what); }, *action);
    machine_.HoldMessages(held());
  }
  performing_ = false;
  if (held() && !link_->ending() && !machine_.idle()) link_->WaitForRoom();
}

void RdmaConnection::ArmTimer() {
  const absl::Time due = machine_.NextDeadline();
  if (due >= timer_due_ || link_->ending()) return;
  loop()->CancelTimer(timer_);
  timer_due_ = due;
  timer_ = loop()->AddTimer(due, [this] { OnTimer(); });
}

void RdmaConnection::OnTimer() {
  timer_ = 0;
  timer_due_ = absl::InfiniteFuture();
  const absl::Time now = loop()->Now();
  if (machine_.NextDeadline() <= now) machine_.OnDeadline(now);
  MarkDirty();
}

// --- Actions: sending.

void RdmaConnection::Do(const protocol::PostEager& action) {
  RegisteredPool::Buffer buffer = *group_.TakeSendBuffer();
  const uint32_t length = WriteEagerFrame(action.header, *outbound_.Find(action.send_id), buffer.data());
  link_->QueueFrame(std::move(buffer), length);
}

void RdmaConnection::Do(const protocol::PostAnnounce& action) {
  RegisteredPool::Buffer buffer = *group_.TakeSendBuffer();
  const Outbound& outbound = *outbound_.Find(action.send_id);
  const uint32_t length = WriteAnnounceFrame(action.header, outbound, action.segments, buffer.data());
  link_->QueueFrame(std::move(buffer), length);
}

void RdmaConnection::Do(const protocol::PostControl& action) {
  if (action.words.empty() || !link_->MayTakeSendBuffer()) return link_->QueueHeader(action.header);
  RegisteredPool::Buffer buffer = *group_.TakeSendBuffer();
  const uint32_t length = WriteControlFrame(action.header, action.words, buffer.data());
  link_->QueueFrame(std::move(buffer), length);
}

void RdmaConnection::Do(const protocol::Export& action) {
  Outbound& outbound = *outbound_.Find(action.send_id);
  outbound.state = Outbound::Export::kWaiting;
  const auto find = [weak = weak_from_this(), id = action.send_id]() -> std::shared_ptr<RdmaConnection> {
    std::shared_ptr<RdmaConnection> connection = weak.lock();
    const Outbound* const record = connection == nullptr ? nullptr : connection->outbound_.Find(id);
    const bool waiting = record != nullptr && record->state == Outbound::Export::kWaiting;
    return waiting ? std::move(connection) : nullptr;
  };
  outbound.exported_bytes = wire::kIdentityBytes + outbound.payload_bytes();
  group_.export_budget().Request(
      outbound.exported_bytes, loop()->Now(), [find] { return find() != nullptr; },
      [find, id = action.send_id, max = action.segments_max](MemoryBudget::Answer) { find()->ExportNow(id, max); });
  group_.WatchBudgets();
}

void RdmaConnection::ExportNow(uint64_t send_id, size_t segments_max) {
  Outbound& outbound = *outbound_.Find(send_id);
  absl::StatusOr<ExportedPayload> exported =
      ExportedPayload::Make(group_.device().domain(), epoch_, outbound.call_id, outbound.payload, outbound.attachment,
                            checksum_, segments_max);
  if (exported.ok()) {
    outbound.exported = *std::move(exported);
    outbound.state = Outbound::Export::kExported;
    group_.export_holders().OnExported(link_->number(), outbound.exported_bytes, loop()->Now());
    machine_.OnExported(send_id, outbound.exported->segments());
  } else {
    Log(Severity::kWarning, absl::StrCat(peer_, ": a message is not sent: ", exported.status().message()));
    outbound.state = Outbound::Export::kNone;
    group_.export_budget().Return(outbound.exported_bytes);
    machine_.OnExportFailed(send_id);
  }
  MarkDirty();
}

void RdmaConnection::Do(const protocol::ReleaseExport& action) {
  Outbound* const outbound = outbound_.Find(action.send_id);
  if (outbound == nullptr) return;
  if (outbound->state == Outbound::Export::kExported) {
    outbound->exported.reset();
    group_.export_holders().OnReleased(link_->number(), outbound->exported_bytes, loop()->Now());
    group_.export_budget().Return(outbound->exported_bytes);
  }
  const bool waited = std::exchange(outbound->state, Outbound::Export::kNone) == Outbound::Export::kWaiting;
  FreeIfDone(action.send_id, *outbound);
  if (waited) group_.export_budget().OnUnwanted();
}

void RdmaConnection::FreeIfDone(uint64_t send_id, const Outbound& outbound) {
  if (outbound.done()) outbound_.Free(send_id);
}

void RdmaConnection::Do(const protocol::Sent& action) {
  Outbound* const outbound = outbound_.Find(action.send_id);
  if (outbound == nullptr) return;
  group_.counters().sends_queued.Subtract(1);
  outbound->payload = nullptr;
  outbound->reported = true;
  FreeIfDone(action.send_id, *outbound);
  // The two enums agree by the static_asserts below.
  if (handler_ != nullptr) handler_->OnSent(action.send_id, static_cast<SendOutcome>(action.outcome));
}

static_assert(static_cast<int>(SendOutcome::kDelivered) == static_cast<int>(protocol::SendOutcome::kDelivered));
static_assert(static_cast<int>(SendOutcome::kNotSent) == static_cast<int>(protocol::SendOutcome::kNotSent));
static_assert(static_cast<int>(SendOutcome::kRefused) == static_cast<int>(protocol::SendOutcome::kRefused));
static_assert(static_cast<int>(SendOutcome::kUnknown) == static_cast<int>(protocol::SendOutcome::kUnknown));
static_assert(static_cast<int>(SendOutcome::kNoMemory) == static_cast<int>(protocol::SendOutcome::kNoMemory));

// --- Actions: receiving.

void RdmaConnection::Do(const protocol::DeliverEager& action) {
  if (handler_ == nullptr) return;
  EagerPayload payload(action.payload);
  handler_->OnMessage({action.message_kind, action.call_id, action.call_header, action.payload.size()}, payload);
}

void RdmaConnection::Do(const protocol::AskVerdict& action) {
  Inbound& inbound = inbound_.Add(action.fetch_id);
  inbound.kind = action.message_kind;
  inbound.call_id = action.call_id;
  inbound.header.assign(action.call_header.begin(), action.call_header.end());
  inbound.payload_bytes = action.payload_bytes;
  const bool fetch = handler_ != nullptr && handler_->OnAnnounced(inbound.head()) == Verdict::kFetch;
  if (!fetch) inbound_.Free(action.fetch_id);
  machine_.OnVerdict(action.fetch_id, fetch ? protocol::Verdict::kFetch : protocol::Verdict::kRefuse);
}

void RdmaConnection::Do(const protocol::AllocateLanding& action) {
  Inbound& inbound = *inbound_.Find(action.fetch_id);
  inbound.state = Inbound::Landing::kWaiting;
  inbound.charged_bytes = action.bytes;
  const auto find = [weak = weak_from_this(), id = action.fetch_id]() -> std::shared_ptr<RdmaConnection> {
    std::shared_ptr<RdmaConnection> connection = weak.lock();
    const Inbound* const record = connection == nullptr ? nullptr : connection->inbound_.Find(id);
    const bool waiting = record != nullptr && record->state == Inbound::Landing::kWaiting;
    return waiting ? std::move(connection) : nullptr;
  };
  group_.fetch_budget().Request(
      action.bytes, loop()->Now(), [find] { return find() != nullptr; },
      [find, id = action.fetch_id](MemoryBudget::Answer answer) { find()->LandNow(id, answer); });
  group_.WatchBudgets();
}

absl::Status RdmaConnection::PrepareLanding(Inbound& inbound) {
  absl::StatusOr<BlockRef> block = PayloadArena::Get().Allocate(inbound.charged_bytes);
  if (!block.ok()) return block.status();
  const DeviceContext& device = group_.device();
  const absl::StatusOr<uint32_t> lkey = (*block)->LandingKey(device.domain(), device.landing_access());
  if (!lkey.ok()) return lkey.status();
  inbound.landing = *std::move(block);
  inbound.lkey = *lkey;
  return absl::OkStatus();
}

void RdmaConnection::LandNow(uint64_t fetch_id, MemoryBudget::Answer answer) {
  Inbound& inbound = *inbound_.Find(fetch_id);
  absl::Status status = absl::ResourceExhaustedError("the program keeps what it received: fetch_bytes_max is lent");
  if (answer == MemoryBudget::Answer::kGranted) {
    inbound.state = Inbound::Landing::kReady;
    status = PrepareLanding(inbound);
  }
  if (status.ok()) {
    machine_.OnLanding(fetch_id);
  } else {
    Log(Severity::kWarning, absl::StrCat(peer_, ": a message is refused: ", status.message()));
    ReturnLanding(inbound);
    machine_.OnLandingFailed(fetch_id);
  }
  MarkDirty();
}

void RdmaConnection::ReturnLanding(Inbound& inbound) {
  inbound.landing = BlockRef();
  switch (std::exchange(inbound.state, Inbound::Landing::kNone)) {
    case Inbound::Landing::kReady:
      return group_.fetch_budget().Return(inbound.charged_bytes);
    case Inbound::Landing::kWaiting:
      return group_.fetch_budget().OnUnwanted();
    case Inbound::Landing::kNone:
      return;
  }
}

void RdmaConnection::Do(const protocol::PostRead& action) {
  const Inbound& inbound = *inbound_.Find(action.fetch_id);
  link_->QueueRead(ReadRequest{action.fetch_id, inbound.landing->data() + action.landing_offset, action.length,
                               inbound.lkey, action.remote_address, action.remote_key});
}

void RdmaConnection::Do(const protocol::CheckIdentity& action) {
  const Inbound& inbound = *inbound_.Find(action.fetch_id);
  machine_.OnIdentity(action.fetch_id, IdentityMatches(inbound, action.expected, action.flags));
}

void RdmaConnection::Do(const protocol::Deliver& action) {
  Inbound& inbound = *inbound_.Find(action.fetch_id);
  // Moved out: a call-back may cause new fetches, and the table to grow.
  const BlockRef landing = std::move(inbound.landing);
  const std::vector<std::byte> header = std::move(inbound.header);
  const MessageHead head{inbound.kind, inbound.call_id, header, inbound.payload_bytes};
  ReturnLanding(inbound);
  inbound_.Free(action.fetch_id);
  LandedPayload payload(landing, head.payload_bytes);
  if (handler_ != nullptr) handler_->OnMessage(head, payload);
}

void RdmaConnection::Do(const protocol::FetchFailed& action) {
  Inbound* const inbound = inbound_.Find(action.fetch_id);
  if (inbound == nullptr) return;
  const std::vector<std::byte> header = inbound->header;
  const MessageHead head{inbound->kind, inbound->call_id, header, inbound->payload_bytes};
  inbound->failed = true;
  if (inbound->state == Inbound::Landing::kNone) inbound_.Free(action.fetch_id);
  if (handler_ != nullptr) handler_->OnFetchFailed(head, action.status);
}

void RdmaConnection::Do(const protocol::ReleaseLanding& action) {
  Inbound* const inbound = inbound_.Find(action.fetch_id);
  if (inbound == nullptr) return;
  ReturnLanding(*inbound);
  if (inbound->failed) inbound_.Free(action.fetch_id);
}

// --- Actions: the connection.

void RdmaConnection::Do(const protocol::PeerDraining&) {
  if (handler_ != nullptr) handler_->OnPeerDraining();
}

void RdmaConnection::Do(const protocol::Disconnect& action) {
  if (absl::IsInvalidArgument(action.status)) {  // The peer broke the protocol.
    group_.counters().protocol_errors.Add(1);
    Log(Severity::kWarning, absl::StrCat(peer_, ": connection closed: ", action.status.message()));
  }
  link_->End();
}

void RdmaConnection::Do(const protocol::Closed& action) {
  if (ConnectionHandler* const handler = std::exchange(handler_, nullptr); handler != nullptr) {
    handler->OnClosed(action.status);
  }
}

}  // namespace verbena::transport
