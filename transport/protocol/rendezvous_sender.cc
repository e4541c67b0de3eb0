#include "transport/protocol/rendezvous_sender.h"

#include <algorithm>
#include <bit>
#include <cassert>

#include "absl/strings/str_cat.h"

namespace verbena::protocol {

namespace {

SendOutcome OutcomeOf(wire::FinishReason reason) {
  switch (reason) {
    case wire::FinishReason::kFetched:
      return SendOutcome::kDelivered;
    case wire::FinishReason::kRefused:
    case wire::FinishReason::kNoMemory:
      return SendOutcome::kRefused;
    case wire::FinishReason::kWithdrawn:
    case wire::FinishReason::kFailed:
      return SendOutcome::kUnknown;
  }
  return SendOutcome::kUnknown;
}

}  // namespace

RendezvousSender::RendezvousSender(const Limits& limits, bool revocable, uint16_t announce_flags, ActionQueue* actions)
    : limits_(limits), revocable_(revocable), announce_flags_(announce_flags), actions_(actions) {}

uint64_t RendezvousSender::Add(const SendHead& head) {
  const uint32_t index = table_.Allocate();
  Message& message = table_[index];
  message.head = head;
  message.state = State::kWaiting;
  table_.PushBack(waiting_, index);
  ++unannounced_;
  exports_due_ = true;
  return table_.IdOf(index);
}

void RendezvousSender::StartExports() {
  exports_due_ = false;
  CountWaiting();
  while (!waiting_.empty() && transfers_free_ != 0 && MayOffer(table_[waiting_.head])) {
    const uint32_t index = table_.PopFront(waiting_);
    const uint32_t slot = static_cast<uint32_t>(std::countr_zero(transfers_free_));
    transfers_free_ &= ~(uint32_t{1} << slot);
    ++transfers_taken_;
    if (offers_few_) CountWaiting();
    Transfer& transfer = transfers_[slot];
    transfer.message = index;
    ++transfer.uses;
    Message& message = table_[index];
    message.state = State::kExporting;
    message.transfer = uint32_t{transfer.uses} << 16 | slot;
    const size_t room =
        (limits_.frame_bytes_max - wire::kFrameHeaderBytes - message.head.header_bytes) / wire::kSegmentBytes;
    actions_->Push(Export{table_.IdOf(index), std::min(room, wire::kSegmentsMax)});
  }
}

void RendezvousSender::CountWaiting() {
  const size_t waiting = table_.size() - transfers_taken_;
  if (waiting >= kManyWaiting) offers_few_ = true;
  if (waiting <= kFewWaiting) offers_few_ = false;
}

bool RendezvousSender::MayOffer(const Message& next) const {
  if (!offers_few_) return true;
  const size_t offered = transfers_taken_ - quarantined_exports_;
  return offered < kOfferedMin || next.head.payload_bytes <= limits_.offered_bytes / (offered + 1);
}

void RendezvousSender::OnExported(uint64_t send_id, absl::Span<const wire::Segment> segments) {
  const uint32_t index = table_.Find(send_id);
  if (index == SlotQueue::kNone || table_[index].state != State::kExporting) return;
  Message& message = table_[index];
  assert(!segments.empty() && segments.size() <= wire::kSegmentsMax);
  message.segments.assign(segments.begin(), segments.end());
  message.state = State::kReady;
  table_.PushBack(ready_, index);
}

void RendezvousSender::OnExportFailed(uint64_t send_id) {
  const uint32_t index = table_.Find(send_id);
  if (index == SlotQueue::kNone || table_[index].state != State::kExporting) return;
  actions_->Push(Sent{send_id, SendOutcome::kNoMemory});
  Free(index);
}

size_t RendezvousSender::NextAnnounceBytes() const {
  const Message& message = table_[ready_.head];
  return wire::kFrameHeaderBytes + message.head.header_bytes + message.segments.size() * wire::kSegmentBytes;
}

PostAnnounce RendezvousSender::NextAnnounce() {
  const uint32_t index = table_.PopFront(ready_);
  Message& message = table_[index];
  message.state = State::kAnnounced;
  --unannounced_;
  PostAnnounce frame{table_.IdOf(index), false, {}, message.segments};
  frame.header.type = wire::FrameType::kAnnounce;
  frame.header.flags = announce_flags_;
  frame.header.call_header_bytes = message.head.header_bytes;
  frame.header.message_kind = message.head.message_kind;
  frame.header.aux = message.transfer;
  frame.header.call_id = message.head.call_id;
  frame.header.payload_bytes = message.head.payload_bytes;
  return frame;
}

wire::FrameHeader RendezvousSender::NextWithdraw() {
  const uint32_t index = table_.PopFront(withdrawing_);
  table_.PushBack(withdrawn_, index);
  Message& message = table_[index];
  message.state = State::kWithdrawn;
  wire::FrameHeader header;
  header.type = wire::FrameType::kWithdraw;
  header.aux = message.transfer;
  header.call_id = message.head.call_id;
  return header;
}

void RendezvousSender::Cancel(uint64_t send_id) {
  const uint32_t index = table_.Find(send_id);
  if (index == SlotQueue::kNone) return;
  switch (table_[index].state) {
    case State::kWaiting:
      actions_->Push(Sent{send_id, SendOutcome::kNotSent});
      Free(index);
      return;
    case State::kExporting:
    case State::kReady:
      actions_->Push(Sent{send_id, SendOutcome::kNotSent});
      actions_->Push(ReleaseExport{send_id});
      Free(index);
      return;
    case State::kAnnounced:
      actions_->Push(Sent{send_id, SendOutcome::kUnknown});
      Quarantine(index);
      return;
    case State::kWithdrawing:
    case State::kWithdrawn:
    case State::kRevoked:
      return;
  }
}

void RendezvousSender::Quarantine(uint32_t index) {
  Message& message = table_[index];
  message.state = State::kWithdrawing;
  table_.PushBack(withdrawing_, index);
  ++quarantined_exports_;
  quarantined_bytes_ += message.head.payload_bytes;
  while (revocable_ && quarantine_full() && !withdrawn_.empty()) RevokeOldest();
  exports_due_ = !waiting_.empty();
}

void RendezvousSender::RevokeOldest() {
  const uint32_t index = table_.PopFront(withdrawn_);
  Message& message = table_[index];
  message.state = State::kRevoked;
  ++revoked_;
  quarantined_bytes_ -= message.head.payload_bytes;
  actions_->Push(RevokeExport{table_.IdOf(index)});
}

void RendezvousSender::LeaveQuarantine(const Message& message) {
  --quarantined_exports_;
  if (message.state == State::kRevoked) {
    --revoked_;
  } else {
    quarantined_bytes_ -= message.head.payload_bytes;
  }
}

uint32_t RendezvousSender::FindTransfer(uint32_t transfer) const {
  const uint32_t slot = transfer & 0xffff;
  if (slot >= kTransfersMax || transfers_[slot].message == SlotQueue::kNone) return SlotQueue::kNone;
  return table_[transfers_[slot].message].transfer == transfer ? transfers_[slot].message : SlotQueue::kNone;
}

absl::Status RendezvousSender::OnFinish(const wire::FrameHeader& finish) {
  const uint32_t index = FindTransfer(finish.aux);
  if (index == SlotQueue::kNone || table_[index].head.call_id != finish.call_id) {
    return absl::InvalidArgumentError(absl::StrCat("protocol error: the peer finished transfer ", finish.aux,
                                                   " of call ", finish.call_id, ", which is not announced"));
  }
  const uint64_t send_id = table_.IdOf(index);
  switch (table_[index].state) {
    case State::kWaiting:
    case State::kExporting:
    case State::kReady:
      return absl::InvalidArgumentError(
          absl::StrCat("protocol error: the peer finished transfer ", finish.aux, " before it was announced"));
    case State::kAnnounced:
      actions_->Push(Sent{send_id, OutcomeOf(static_cast<wire::FinishReason>(finish.message_kind))});
      break;
    case State::kWithdrawing:
    case State::kWithdrawn:
    case State::kRevoked:
      break;  // Its Sent was reported when it was cancelled.
  }
  if (table_[index].state != State::kRevoked) actions_->Push(ReleaseExport{send_id});
  Free(index);
  return absl::OkStatus();
}

void RendezvousSender::LeaveQueue(uint32_t index) {
  switch (table_[index].state) {
    case State::kWaiting:
      table_.Remove(waiting_, index);
      return;
    case State::kReady:
      table_.Remove(ready_, index);
      return;
    case State::kWithdrawing:
      table_.Remove(withdrawing_, index);
      return;
    case State::kWithdrawn:
      table_.Remove(withdrawn_, index);
      return;
    case State::kExporting:
    case State::kAnnounced:
    case State::kRevoked:
      return;
  }
}

void RendezvousSender::Free(uint32_t index) {
  const Message& message = table_[index];
  LeaveQueue(index);
  if (message.state >= State::kWithdrawing) LeaveQuarantine(message);
  if (message.state <= State::kReady) --unannounced_;
  if (message.state != State::kWaiting) {
    const uint32_t slot = message.transfer & 0xffff;
    transfers_[slot].message = SlotQueue::kNone;
    transfers_free_ |= uint32_t{1} << slot;
    --transfers_taken_;
  }
  table_.Free(index);
  if (offers_few_) CountWaiting();
  exports_due_ = !waiting_.empty();
}

void RendezvousSender::Close() {
  for (uint32_t index = 0; index < table_.capacity(); ++index) {
    if (!table_.in_use(index)) continue;
    const uint64_t send_id = table_.IdOf(index);
    const State state = table_[index].state;
    if (state <= State::kReady) actions_->Push(Sent{send_id, SendOutcome::kNotSent});
    if (state == State::kAnnounced) actions_->Push(Sent{send_id, SendOutcome::kUnknown});
    if (state != State::kWaiting && state != State::kRevoked) actions_->Push(ReleaseExport{send_id});
    Free(index);
  }
}

}  // namespace verbena::protocol
