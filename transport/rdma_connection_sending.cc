// How an RdmaConnection sends: what leaves at once, and the actions of the sending side.

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/clear_cord.h"
#include "transport/log.h"
#include "transport/rdma_connection.h"

namespace verbena::transport {

uint64_t RdmaConnection::Send(OutboundMessage&& message) {
  const uint64_t source_bytes = message.payload == nullptr ? 0 : message.payload->size();
  const protocol::SendHead head{.message_kind = message.kind,
                                .call_id = message.call_id,
                                .header_bytes = static_cast<uint16_t>(message.header.size()),
                                .payload_bytes = source_bytes + message.attachment.size(),
                                .refusable = message.refusable};
  if (message.leaves_unreported && SendAtOnce(head, message, source_bytes)) return Connection::kLeft;
  const uint64_t send_id = machine_.Send(head);
  outbound_.Add(send_id).Assign(std::move(message), source_bytes);
  group_.counters().sends_queued.Add(1);
  MarkDirty();
  return send_id;
}

// Into its caller: every small message passes here.
[[gnu::always_inline]] inline bool RdmaConnection::SendAtOnce(const protocol::SendHead& head,
                                                              const OutboundMessage& message, uint64_t source_bytes) {
  wire::FrameHeader header = head.EagerHeader();
  const EagerContent content{message.header, message.payload, source_bytes, message.attachment};
  if (machine_.JoinAtOnce(head, link_->room())) {
    JoinEagerFrame(header, content, /*reported=*/false);
  } else {
    machine_.HoldMessages(MessagesHeld());
    const std::optional<uint16_t> grant = machine_.PostAtOnce(head);
    if (!grant.has_value()) return false;
    header.credit_grant = *grant;
    PostEagerFrame(header, content, /*reported=*/false);
  }
  const bool is_last = message.ends_burst && std::exchange(answer_rings_, false);
  if (splitter_.OnAnswer() || is_last) {
    link_->Flush();
  } else {
    MarkDirty();  // The doorbell is the turn's.
  }
  return true;
}

[[gnu::always_inline]] inline void RdmaConnection::JoinEagerFrame(const wire::FrameHeader& header,
                                                                  const EagerContent& content, bool reported) {
  CountPayload(content);
  link_->JoinFrame(WriteEagerFrame(header, content, link_->room_begin()), reported);
}

void RdmaConnection::PostEagerFrame(const wire::FrameHeader& header, const EagerContent& content, bool reported) {
  CountPayload(content);
  RegisteredPool::Buffer buffer = group_.TakeSendBuffer();
  const uint32_t length = WriteEagerFrame(header, content, buffer.data());
  QueueFrame(std::move(buffer), length, RoomBehind(length), reported);
}

inline void RdmaConnection::CountPayload(const EagerContent& content) {
  group_.counters().payload_bytes_serialized.Add(content.source_bytes);
  if (!content.attachment.empty()) group_.counters().payload_bytes_copied.Add(content.attachment.size());
}

void RdmaConnection::Do(const protocol::PostEager& action) {
  Outbound& outbound = *outbound_.Find(action.send_id);
  if (action.joins) {
    JoinEagerFrame(action.header, outbound.content(), /*reported=*/true);
  } else {
    PostEagerFrame(action.header, outbound.content(), /*reported=*/true);
  }
  ClearCord(outbound.attachment);  // Its memory is its owner's again.
  if (outbound.awaited) link_->AwaitSends();
  if (outbound.payload != nullptr) outbound.payload->OnWritten();
}

void RdmaConnection::Do(const protocol::PostAnnounce& action) {
  const Outbound& outbound = *outbound_.Find(action.send_id);
  const auto write = [&](std::byte* to) { return WriteAnnounceFrame(action.header, outbound, action.segments, to); };
  if (action.joins) return link_->JoinFrame(write(link_->room_begin()), /*reported=*/false);
  RegisteredPool::Buffer buffer = group_.TakeSendBuffer();
  const uint32_t length = write(buffer.data());
  QueueFrame(std::move(buffer), length, packing_ == wire::Packing::kRendezvous ? RoomBehind(length) : 0);
}

void RdmaConnection::Do(const protocol::PostControl& action) {
  const auto write = [&](std::byte* to) { return WriteControlFrame(action.header, action.words, to); };
  if (action.joins) return link_->JoinFrame(write(link_->room_begin()), /*reported=*/false);
  const bool wants_buffer = action.leads || !action.words.empty();
  if (!wants_buffer || MessagesHeld()) {  // Nor may a message join what leaves no more, where the link ends.
    link_->QueueHeader(action.header);
    return AwaitIfWanted();
  }
  RegisteredPool::Buffer buffer = group_.TakeSendBuffer();
  const uint32_t length = write(buffer.data());
  QueueFrame(std::move(buffer), length, action.leads ? RoomBehind(length) : 0, /*reported=*/!action.leads);
}

void RdmaConnection::Do(const protocol::Export& action) {
  Outbound& outbound = *outbound_.Find(action.send_id);
  outbound.state = Outbound::Export::kWaiting;
  outbound.exported_bytes = wire::kIdentityBytes + outbound.payload_bytes();
  if (group_.export_budget().TakeAtOnce(outbound.exported_bytes)) return ExportNow(action.send_id, action.segments_max);
  outbound.request = group_.export_budget().Request(
      outbound.exported_bytes, loop()->Now(),
      [this, id = action.send_id, max = action.segments_max](MemoryBudget::Answer) { ExportNow(id, max); });
  group_.WatchBudgets();
}

void RdmaConnection::ExportNow(uint64_t send_id, size_t segments_max) {
  Outbound& outbound = *outbound_.Find(send_id);
  LentExport exported = group_.exports().Take();
  const absl::Status status =
      exported->Fill(group_.device(), &link_->windows(),
                     {epoch_, outbound.call_id, outbound.payload, outbound.attachment, checksum_}, segments_max);
  if (status.ok()) {
    group_.counters().payload_bytes_serialized.Add(outbound.source_bytes);
    group_.counters().payload_bytes_copied.Add(exported->copied_bytes());
    outbound.exported = std::move(exported);
    outbound.state = Outbound::Export::kExported;
    group_.export_holders().OnTaken(link_->number(), outbound.exported_bytes, loop()->Now());
    exports_due_ = true;
    unbound_.Push(send_id);
    BindExports();
    if (outbound.payload != nullptr) written_.Push(send_id);  // Told by OnTurnEnd: the budget is on the stack.
  } else {
    Log(Severity::kWarning, absl::StrCat(peer_, ": a message is not sent: ", status.message()));
    outbound.state = Outbound::Export::kNone;
    exported.reset();  // Its memory is free before it is counted as free.
    group_.export_budget().Return(outbound.exported_bytes, loop()->Now());
    machine_.OnExportFailed(send_id);
  }
  MarkDirty();
}

void RdmaConnection::TellWritten() {
  while (!written_.empty()) {
    const Outbound* const outbound = outbound_.Find(written_.Pop());
    if (outbound != nullptr && outbound->payload != nullptr) outbound->payload->OnWritten();
  }
}

// Else such an export would wait for ever.
static_assert(ExportedPayload::kWindowsMax <= Link::kWindowWorkMax);

void RdmaConnection::BindExports() {
  while (!unbound_.empty()) {
    Outbound* const outbound = outbound_.Find(unbound_.front());
    if (outbound != nullptr && outbound->exported != nullptr) {  // Not released meanwhile.
      if (const size_t windows = outbound->exported->windows(); windows > 0) {
        if (!link_->MayBind(windows)) return link_->WaitForRoom();
        outbound->exported->Bind([this](ExportedPayload::Opening& opening) {
          return link_->QueueBind(*opening.window, *opening.region, opening.bytes);
        });
      }
      machine_.OnExported(unbound_.front(), outbound->exported->segments());
    }
    unbound_.DropFront();
  }
}

void RdmaConnection::TakeBack(LentExport exported, uint64_t bytes) {
  if (!exported->bound()) return FinishTakingBack(TakenBack{std::move(exported), bytes});
  if (!link_->ending()) {  // Else the queue pair takes the windows with it.
    for (const ExportedPayload::Opening& opening : exported->openings()) link_->QueueInvalidate(*opening.window);
    MarkDirty();
  }
  const size_t windows = exported->windows();
  taken_back_.Push(TakenBack{std::move(exported), bytes, windows});
}

void RdmaConnection::OnInvalidated() {
  if (--taken_back_.front().windows > 0) return;
  FinishTakingBack(taken_back_.Pop());
}

void RdmaConnection::FinishTakingBack(TakenBack taken) {
  taken.exported.reset();  // Its memory is free before it is counted as free.
  const absl::Time now = loop()->Now();
  group_.export_holders().OnReleased(link_->number(), taken.bytes, now);
  group_.export_budget().Return(taken.bytes, now);
}

void RdmaConnection::EndExport(uint64_t send_id) {
  Outbound* const outbound = outbound_.Find(send_id);
  if (outbound == nullptr) return;
  if (outbound->state == Outbound::Export::kExported) {
    TakeBack(std::move(outbound->exported), outbound->exported_bytes);
  }
  CancelExport(*outbound);
  outbound->state = Outbound::Export::kNone;
  FreeIfDone(send_id, *outbound);
}

void RdmaConnection::CancelExport(Outbound& outbound) {
  if (outbound.state != Outbound::Export::kWaiting) return;
  outbound.state = Outbound::Export::kNone;
  group_.export_budget().Cancel(outbound.request);
}

void RdmaConnection::FreeIfDone(uint64_t send_id, const Outbound& outbound) {
  if (outbound.done()) outbound_.Free(send_id);
}

void RdmaConnection::Do(const protocol::Sent& action) {
  Outbound* const outbound = outbound_.Find(action.send_id);
  if (outbound == nullptr) return;
  group_.counters().sends_queued.Subtract(1);
  outbound->DropSource();
  outbound->reported = true;
  const SentMessage sent{action.send_id, outbound->kind, outbound->tag};
  FreeIfDone(action.send_id, *outbound);
  // The two enums agree by the static_asserts below.
  if (handler_ != nullptr) handler_->OnSent(sent, static_cast<SendOutcome>(action.outcome));
}

static_assert(static_cast<int>(SendOutcome::kDelivered) == static_cast<int>(protocol::SendOutcome::kDelivered));
static_assert(static_cast<int>(SendOutcome::kNotSent) == static_cast<int>(protocol::SendOutcome::kNotSent));
static_assert(static_cast<int>(SendOutcome::kRefused) == static_cast<int>(protocol::SendOutcome::kRefused));
static_assert(static_cast<int>(SendOutcome::kUnknown) == static_cast<int>(protocol::SendOutcome::kUnknown));
static_assert(static_cast<int>(SendOutcome::kNoMemory) == static_cast<int>(protocol::SendOutcome::kNoMemory));

}  // namespace verbena::transport
