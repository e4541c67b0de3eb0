// How an RdmaConnection performs the actions of its receiving side.

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "transport/log.h"
#include "transport/payload_layout.h"
#include "transport/rdma_connection.h"

namespace verbena::transport {
namespace {

// Each connection may keep so much; a call's header without metadata takes less.
constexpr size_t kSpareHeaderBytesMax = 512;

}  // namespace

static_assert(static_cast<int>(Verdict::kFetch) == static_cast<int>(protocol::Verdict::kFetch));
static_assert(static_cast<int>(Verdict::kFetchInParts) == static_cast<int>(protocol::Verdict::kFetchInParts));
static_assert(static_cast<int>(Verdict::kRefuse) == static_cast<int>(protocol::Verdict::kRefuse));

bool RdmaConnection::OnSendArrived(uint32_t receive, absl::Span<const std::byte> bytes) {
  if (!early_sends_.empty()) {
    early_sends_.push_back(EarlySend{receive, bytes});
    return false;
  }
  const absl::Time now = loop()->Now();
  const bool last = group_.handling_last();
  if (!machine_.quiet()) Perform();  // What completed before is reported before.
  machine_.OnSendArrived();
  wire::FrameReader frames(bytes, packing_);
  wire::FrameView frame;
  while (!frames.done()) {
    group_.counters().frames_received.Add(1);
    if (absl::Status status = frames.Next(&frame); !status.ok()) {
      machine_.OnMalformedFrame(std::move(status), now);
      Perform();
      break;
    }
    if (machine_.OnFrame(frame, now)) {
      answer_rings_ = last && frames.done();
      splitter_.OnMessage(group_.waited());
      Deliver(frame);
      answer_rings_ = false;
    } else if (!machine_.quiet()) {
      Perform();  // At once: actions point into the frame.
    }
  }
  if (last && !dirty_ && !AnythingDue()) {
    splitter_.OnTurnEnd();  // As a rule, where one call is in flight: its answer has left.
  } else {
    MarkDirty();  // A doorbell for what all frames of this turn ask for, and none has rung for.
  }
  return true;
}

// Of this file alone: inline, so that it goes into its caller.
inline void RdmaConnection::Deliver(const wire::FrameView& eager) {
  if (handler_ == nullptr) return;
  EagerPayload payload(eager.body, &group_.counters().payload_bytes_copied);
  handler_->OnMessage({eager.header.message_kind, eager.header.call_id, eager.call_header, eager.body.size(), 0},
                      payload);
}

void RdmaConnection::Do(const protocol::AskVerdict& action) {
  Inbound& inbound = inbound_.Add(action.fetch_id);
  announced_to_waiting_ = group_.waited();
  inbound.fetch_id = action.fetch_id;
  inbound.kind = action.message_kind;
  inbound.call_id = action.call_id;
  inbound.header.assign(action.call_header.begin(), action.call_header.end());
  inbound.payload_bytes = action.payload_bytes;
  const Verdict verdict = handler_ != nullptr ? handler_->OnAnnounced(inbound.head()) : Verdict::kRefuse;
  inbound.in_parts = verdict == Verdict::kFetchInParts;
  if (verdict == Verdict::kRefuse) inbound_.Free(action.fetch_id);
  machine_.OnVerdict(action.fetch_id, static_cast<protocol::Verdict>(verdict));
}

void RdmaConnection::Do(const protocol::AllocateLanding& action) {
  Inbound& inbound = *inbound_.Find(action.fetch_id);
  inbound.charged_bytes = action.bytes;
  inbound.turn_bytes = TurnBytes(inbound);
  if (group_.fetch_window().IsSmall(inbound.turn_bytes)) return AskForLanding(action.fetch_id, inbound);
  inbound.state = Inbound::Landing::kQueued;
  const FetchWindow::Entry entry =
      group_.fetch_window().Enter(this, action.fetch_id, action.bytes, inbound.turn_bytes, loop()->Now());
  inbound.ticket = entry.ticket;
  if (entry.begins) return AskForLanding(action.fetch_id, inbound);
  group_.counters().fetches_queued.Add(1);
  group_.WatchFetchWindow();
}

// Of its own call none goes before an older one that waits for its turn.
uint64_t RdmaConnection::TurnBytes(const Inbound& fetch) {
  uint64_t bytes = fetch.charged_bytes;
  if (group_.fetch_window().waiting() == 0) return bytes;
  inbound_.ForEach([&](const Inbound& other) {
    const bool waits = other.state == Inbound::Landing::kQueued && other.call_id == fetch.call_id;
    if (waits) bytes = std::max(bytes, other.turn_bytes);
  });
  return bytes;
}

void RdmaConnection::OnFetchTurn(uint64_t fetch_id) {
  Inbound& inbound = *inbound_.Find(fetch_id);
  if (link_->ending()) return LeaveFetchWindow(inbound);  // ReleaseLanding follows.
  AskForLanding(fetch_id, inbound);
}

void RdmaConnection::AskForLanding(uint64_t fetch_id, Inbound& inbound) {
  inbound.state = Inbound::Landing::kWaiting;
  const uint64_t bytes = inbound.charged_bytes;
  if (group_.fetch_budget().TakeAtOnce(bytes)) return LandNow(fetch_id, MemoryBudget::Answer::kGranted);
  inbound.request = group_.fetch_budget().Request(
      bytes, loop()->Now(), [this, fetch_id](MemoryBudget::Answer answer) { LandNow(fetch_id, answer); });
  LeaveFetchWindow(inbound);  // It may wait for memory as long as it takes.
  group_.WatchBudgets();
}

absl::Status RdmaConnection::PrepareLanding(Inbound& inbound) {
  absl::StatusOr<BlockRef> block = AllocateForMessage(inbound.charged_bytes);
  if (!block.ok()) return block.status();
  const absl::StatusOr<const verbs::MemoryRegion*> region = (*block)->regions().In(group_.device());
  if (!region.ok()) return region.status();
  inbound.landing = *std::move(block);
  inbound.lkey = (*region)->lkey();
  return absl::OkStatus();
}

void RdmaConnection::LandNow(uint64_t fetch_id, MemoryBudget::Answer answer) {
  Inbound& inbound = *inbound_.Find(fetch_id);
  const bool granted = answer == MemoryBudget::Answer::kGranted;
  if (granted) {
    inbound.state = Inbound::Landing::kReady;
    group_.landing_holders().OnTaken(link_->number(), inbound.charged_bytes, loop()->Now());
  }
  const absl::Status status =
      granted ? PrepareLanding(inbound)
              : absl::ResourceExhaustedError("the program keeps what it received: fetch_bytes_max is lent");
  if (status.ok()) {
    machine_.OnLanding(fetch_id);
  } else {
    Log(Severity::kWarning, absl::StrCat(peer_, ": a message is refused: ", status.message()));
    ReturnLanding(inbound);
    machine_.OnLandingFailed(fetch_id);
  }
  MarkDirty();
}

void RdmaConnection::LeaveFetchWindow(Inbound& inbound) {
  group_.fetch_window().Leave(std::exchange(inbound.ticket, FetchWindow::kNone), loop()->Now());
}

void RdmaConnection::ReturnLanding(Inbound& inbound) {
  inbound.landing = BlockRef();
  const LandingLoan loan = std::move(inbound.loan);
  if (loan != nullptr) group_.landing_loans().CountAsLent(inbound.charged_bytes);
  switch (std::exchange(inbound.state, Inbound::Landing::kNone)) {
    case Inbound::Landing::kReady:
      group_.landing_holders().OnReleased(link_->number(), inbound.charged_bytes, loop()->Now());
      if (loan == nullptr) group_.fetch_budget().Return(inbound.charged_bytes, loop()->Now());
      break;
    case Inbound::Landing::kWaiting:
      group_.fetch_budget().Cancel(inbound.request);
      break;
    case Inbound::Landing::kQueued:
    case Inbound::Landing::kNone:
      break;
  }
  LeaveFetchWindow(inbound);
}

void RdmaConnection::Do(const protocol::PostRead& action) {
  const Inbound& inbound = *inbound_.Find(action.fetch_id);
  inbound.landing->PrepareToWrite(kIdentityBegin + action.landing_offset + action.length);
  link_->QueueRead(ReadRequest{action.fetch_id, inbound.landing->data() + kIdentityBegin + action.landing_offset,
                               action.length, inbound.lkey, action.remote_address, action.remote_key});
}

// Another message's bytes are shown to nobody: that it is one is found again when all has landed.
void RdmaConnection::Do(const protocol::Landed& action) {
  Inbound& inbound = *inbound_.Find(action.fetch_id);
  if (handler_ == nullptr || !IdentityMatches(inbound, action.expected, /*flags=*/0)) return;
  LandedPayload part(&group_.landing_loans(), inbound.landing, action.bytes - wire::kIdentityBytes,
                     inbound.charged_bytes, inbound.loan, /*filled=*/false);
  handler_->OnPart(inbound.head(), part);
  inbound.loan = part.TakeLoan();
}

void RdmaConnection::Do(const protocol::CheckIdentity& action) {
  const Inbound& inbound = *inbound_.Find(action.fetch_id);
  machine_.OnIdentity(action.fetch_id, IdentityMatches(inbound, action.expected, action.flags));
}

void RdmaConnection::Do(const protocol::Deliver& action) {
  Inbound& inbound = *inbound_.Find(action.fetch_id);
  // Moved out: a call-back may cause new fetches, and the table to grow.
  if (inbound.loan != nullptr) group_.landing_loans().CountAsLent(inbound.charged_bytes);
  LandedPayload payload(&group_.landing_loans(), std::move(inbound.landing), inbound.payload_bytes,
                        inbound.charged_bytes, std::move(inbound.loan));
  const bool in_parts = inbound.in_parts;
  const uint64_t charged_bytes = inbound.charged_bytes;
  const FetchWindow::Ticket ticket = inbound.ticket;
  std::vector<std::byte> header = std::exchange(inbound.header, std::move(spare_header_));
  const MessageHead head{inbound.kind, inbound.call_id, header, inbound.payload_bytes, action.fetch_id};
  inbound_.Free(action.fetch_id);
  if (handler_ != nullptr) in_parts ? handler_->OnPart(head, payload) : handler_->OnMessage(head, payload);
  if (header.capacity() <= kSpareHeaderBytesMax) spare_header_ = std::move(header);
  const absl::Time now = loop()->Now();
  group_.landing_holders().OnReleased(link_->number(), charged_bytes, now);
  if (!payload.lent()) group_.fetch_budget().Return(charged_bytes, now);
  group_.fetch_window().Leave(ticket, now);
}

void RdmaConnection::Do(const protocol::FetchFailed& action) {
  Inbound* const inbound = inbound_.Find(action.fetch_id);
  if (inbound == nullptr) return;
  const std::vector<std::byte> header = inbound->header;
  const MessageHead head{inbound->kind, inbound->call_id, header, inbound->payload_bytes, action.fetch_id};
  inbound->failed = true;
  if (inbound->state == Inbound::Landing::kNone) inbound_.Free(action.fetch_id);
  if (handler_ != nullptr) handler_->OnFetchFailed(head, machine_.ErrorOf(action));
}

void RdmaConnection::Do(const protocol::ReleaseLanding& action) {
  Inbound* const inbound = inbound_.Find(action.fetch_id);
  if (inbound == nullptr) return;
  ReturnLanding(*inbound);
  if (inbound->failed) inbound_.Free(action.fetch_id);
}

}  // namespace verbena::transport
