#include "transport/protocol/rendezvous_receiver.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "absl/strings/str_cat.h"

namespace verbena::protocol {

namespace {

constexpr uint32_t kNone = SlotQueue::kNone;

absl::Status BadAnnouncement(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("protocol error: the peer announced ", what));
}

}  // namespace

RendezvousReceiver::RendezvousReceiver(const Limits& limits, uint64_t epoch, ActionQueue* actions)
    : limits_(limits), epoch_(epoch), actions_(actions) {
  assert(limits.read_depth > 0 && limits.read_chunk_bytes > 0);
  transfers_.fill(kNone);
}

absl::Status RendezvousReceiver::CheckTransfer(uint32_t transfer) const {
  const uint32_t slot = transfer & 0xffff;
  if (slot >= kTransfersMax) return BadAnnouncement(absl::StrCat("transfer slot ", slot, " of ", kTransfersMax));
  if (transfers_[slot] != kNone) return BadAnnouncement(absl::StrCat("transfer slot ", slot, " which is in use"));
  return absl::OkStatus();
}

void RendezvousReceiver::CopyAnnouncement(const wire::FrameView& frame, Fetch& fetch) {
  fetch.state = State::kOffered;
  fetch.failure = FetchFailure::kNone;
  fetch.flags = frame.header.flags;
  fetch.transfer = frame.header.aux;
  fetch.call_id = frame.header.call_id;
  fetch.arrival = arrivals_++;
  fetch.payload_bytes = frame.header.payload_bytes;
  fetch.segment = 0;
  fetch.segment_offset = 0;
  fetch.landing_offset = 0;
  fetch.landed_bytes = 0;
  fetch.told = false;
  fetch.reads_in_flight = 0;
  fetch.segments.resize(wire::SegmentCount(frame));
  for (size_t i = 0; i < fetch.segments.size(); ++i) fetch.segments[i] = wire::DecodeSegment(frame, i);
}

absl::Status RendezvousReceiver::OnAnnounce(const wire::FrameView& frame) {
  if (absl::Status status = CheckTransfer(frame.header.aux); !status.ok()) return status;
  const uint32_t index = table_.Allocate();
  Fetch& fetch = table_[index];
  CopyAnnouncement(frame, fetch);
  transfers_[fetch.transfer & 0xffff] = index;
  if (fetch.payload_bytes > limits_.message_bytes_max) {
    fetch.reason = wire::FinishReason::kRefused;
    fetch.failure = FetchFailure::kTooLong;
  }
  actions_->Push(AskVerdict{table_.IdOf(index), frame.header.message_kind, fetch.flags, fetch.call_id,
                            frame.call_header, fetch.payload_bytes});
  return absl::OkStatus();
}

absl::Status RendezvousReceiver::OnWithdraw(const wire::FrameHeader& withdraw) {
  const uint32_t slot = withdraw.aux & 0xffff;
  if (slot >= kTransfersMax) {
    return absl::InvalidArgumentError(absl::StrCat("protocol error: the peer withdrew transfer slot ", slot));
  }
  const uint32_t index = transfers_[slot];
  if (index == kNone || table_[index].transfer != withdraw.aux) return absl::OkStatus();  // Our kFinish crossed it.
  if (table_[index].call_id != withdraw.call_id) {
    return absl::InvalidArgumentError("protocol error: the peer withdrew a transfer of another call");
  }
  Stop(index, wire::FinishReason::kWithdrawn, FetchFailure::kWithdrawn);
  return absl::OkStatus();
}

uint32_t RendezvousReceiver::Find(uint64_t fetch_id, State state) const {
  const uint32_t index = table_.Find(fetch_id);
  return index != kNone && table_[index].state == state ? index : kNone;
}

void RendezvousReceiver::OnVerdict(uint64_t fetch_id, Verdict verdict) {
  const uint32_t index = Find(fetch_id, State::kOffered);
  if (index == kNone) return;
  Fetch& offered = table_[index];
  offered.in_parts = verdict == Verdict::kFetchInParts;
  if (verdict == Verdict::kRefuse) {
    Finish(index, offered.failure == FetchFailure::kNone ? wire::FinishReason::kRefused : offered.reason);
  } else if (offered.failure != FetchFailure::kNone) {
    ReportFailure(index);
    Finish(index, offered.reason);
  } else {
    offered.state = State::kAccepted;
    table_.PushBack(pending_, index);
  }
}

void RendezvousReceiver::OnLanding(uint64_t fetch_id) {
  const uint32_t index = Find(fetch_id, State::kAllocating);
  if (index == kNone) return;
  table_[index].state = State::kReading;
  table_.PushBack(pending_, index);
}

void RendezvousReceiver::OnLandingFailed(uint64_t fetch_id) {
  const uint32_t index = Find(fetch_id, State::kAllocating);
  if (index == kNone) return;
  table_[index].failure = FetchFailure::kNoMemory;
  ReportFailure(index);
  Finish(index, wire::FinishReason::kNoMemory);
}

template <typename GoesBefore>
uint32_t RendezvousReceiver::FirstPending(uint32_t first, GoesBefore goes_before) const {
  for (uint32_t index = pending_.head; index != kNone; index = table_.Next(index)) {
    if (goes_before(table_[index], table_[first])) first = index;
  }
  return first;
}

uint32_t RendezvousReceiver::Turn() const {
  if (pending_.head == pending_.tail) return pending_.head;
  const auto is_older = [](const Fetch& one, const Fetch& other) { return one.arrival < other.arrival; };
  if (reads_made_ % kOldestsTurn == kOldestsTurn - 1) return FirstPending(pending_.head, is_older);
  const uint32_t smallest = FirstPending(pending_.head, [&is_older](const Fetch& one, const Fetch& other) {
    return one.bytes_left() < other.bytes_left() || (one.bytes_left() == other.bytes_left() && is_older(one, other));
  });
  return FirstPending(smallest, [&is_older](const Fetch& one, const Fetch& other) {
    return one.call_id == other.call_id && is_older(one, other);
  });
}

std::optional<Action> RendezvousReceiver::NextAction() {
  if (pending_.empty() || reads_.size() >= limits_.read_depth) return std::nullopt;
  const uint32_t index = Turn();
  Fetch& fetch = table_[index];
  const uint32_t bytes = static_cast<uint32_t>(
      std::min<uint64_t>(fetch.segments[fetch.segment].length - fetch.segment_offset, limits_.read_chunk_bytes));
  const uint64_t bytes_max = uint64_t{kReadChunksInFlightMax} * limits_.read_chunk_bytes;
  if (read_bytes_in_flight_ + bytes > bytes_max) return std::nullopt;
  if (fetch.state == State::kReading) return ReadOf(index, bytes);
  table_.Remove(pending_, index);
  fetch.state = State::kAllocating;
  return AllocateLanding{table_.IdOf(index), fetch.landing_bytes()};
}

PostRead RendezvousReceiver::ReadOf(uint32_t index, uint32_t bytes) {
  Fetch& fetch = table_[index];
  const wire::Segment& segment = fetch.segments[fetch.segment];
  const PostRead read{table_.IdOf(index), segment.address + fetch.segment_offset, segment.key, fetch.landing_offset,
                      bytes};
  reads_.Push(Read{index, bytes});
  ++reads_made_;
  read_bytes_in_flight_ += bytes;
  ++fetch.reads_in_flight;
  fetch.landing_offset += bytes;
  fetch.segment_offset += bytes;
  if (fetch.segment_offset == segment.length) {
    ++fetch.segment;
    fetch.segment_offset = 0;
  }
  if (fetch.segment == fetch.segments.size()) table_.Remove(pending_, index);
  return read;
}

bool RendezvousReceiver::OnReadCompleted(uint64_t fetch_id, bool ok) {
  const Read read = reads_.Pop();
  read_bytes_in_flight_ -= read.bytes;
  Fetch& fetch = table_[read.fetch];
  assert(table_.IdOf(read.fetch) == fetch_id);
  --fetch.reads_in_flight;
  if (!ok && fetch.state == State::kReading) {
    Stop(read.fetch, wire::FinishReason::kFailed, FetchFailure::kReadFailed);
    return false;
  }
  fetch.landed_bytes += read.bytes;
  if (fetch.state == State::kStopping) {
    if (fetch.reads_in_flight == 0) Abandon(read.fetch);
  } else if (fetch.landed_bytes == fetch.landing_bytes()) {
    fetch.state = State::kChecking;
    actions_->Push(CheckIdentity{fetch_id, fetch.flags, IdentityOf(fetch)});
  } else if (fetch.in_parts && fetch.landed_bytes > wire::kIdentityBytes) {
    fetch.told = true;
    actions_->Push(Landed{fetch_id, fetch.landed_bytes, IdentityOf(fetch)});
  }
  return ok;
}

wire::Identity RendezvousReceiver::IdentityOf(const Fetch& fetch) const {
  wire::Identity identity;
  identity.epoch = epoch_;
  identity.call_id = fetch.call_id;
  identity.payload_bytes = fetch.payload_bytes;
  return identity;
}

void RendezvousReceiver::OnIdentity(uint64_t fetch_id, bool ok) {
  const uint32_t index = Find(fetch_id, State::kChecking);
  if (index == kNone) return;
  Fetch& fetch = table_[index];
  if (ok && fetch.failure == FetchFailure::kNone) {
    actions_->Push(Deliver{fetch_id});
    Finish(index, wire::FinishReason::kFetched);
    return;
  }
  if (fetch.failure == FetchFailure::kNone) {
    fetch.reason = ReasonOf(fetch, wire::FinishReason::kFailed);
    fetch.failure = FetchFailure::kBadIdentity;
  }
  Abandon(index);
}

void RendezvousReceiver::Cancel(uint64_t call_id) {
  for (uint32_t index = 0; index < table_.capacity(); ++index) {
    if (!table_.in_use(index) || table_[index].call_id != call_id) continue;
    Stop(index, ReasonOf(table_[index], wire::FinishReason::kRefused), FetchFailure::kCancelled);
  }
}

void RendezvousReceiver::Stop(uint32_t index, wire::FinishReason reason, FetchFailure failure) {
  Fetch& fetch = table_[index];
  if (fetch.state == State::kFinishing || fetch.failure != FetchFailure::kNone) return;
  fetch.reason = reason;
  fetch.failure = failure;
  switch (fetch.state) {
    case State::kOffered:   // OnVerdict ends it.
    case State::kChecking:  // OnIdentity ends it.
    case State::kStopping:
    case State::kFinishing:
      return;
    case State::kAccepted:
      table_.Remove(pending_, index);
      Abandon(index);
      return;
    case State::kAllocating:
      Abandon(index);
      return;
    case State::kReading:
      if (fetch.segment < fetch.segments.size()) table_.Remove(pending_, index);
      fetch.state = State::kStopping;
      if (fetch.reads_in_flight == 0) Abandon(index);
      return;
  }
}

void RendezvousReceiver::Abandon(uint32_t index) {
  if (table_[index].state != State::kAccepted) actions_->Push(ReleaseLanding{table_.IdOf(index)});
  ReportFailure(index);
  Finish(index, table_[index].reason);
}

void RendezvousReceiver::ReportFailure(uint32_t index) {
  const Fetch& fetch = table_[index];
  actions_->Push(FetchFailed{table_.IdOf(index), fetch.payload_bytes, fetch.failure});
}

void RendezvousReceiver::Finish(uint32_t index, wire::FinishReason reason) {
  table_[index].reason = reason;
  table_[index].state = State::kFinishing;
  table_.PushBack(finishing_, index);
}

wire::FrameHeader RendezvousReceiver::NextFinish() {
  const uint32_t index = table_.PopFront(finishing_);
  const Fetch& fetch = table_[index];
  wire::FrameHeader header;
  header.type = wire::FrameType::kFinish;
  header.message_kind = static_cast<uint8_t>(fetch.reason);
  header.aux = fetch.transfer;
  header.call_id = fetch.call_id;
  transfers_[fetch.transfer & 0xffff] = kNone;
  table_.Free(index);
  return header;
}

void RendezvousReceiver::Close() {
  reads_ = Ring<Read>();
  read_bytes_in_flight_ = 0;
  pending_ = SlotQueue();
  for (uint32_t index = 0; index < table_.capacity(); ++index) {
    if (!table_.in_use(index)) continue;
    Fetch& fetch = table_[index];
    if (fetch.state == State::kOffered) Finish(index, wire::FinishReason::kFailed);
    if (fetch.state == State::kFinishing) continue;
    if (fetch.failure == FetchFailure::kNone) fetch.failure = FetchFailure::kConnectionEnded;
    Abandon(index);
  }
  while (HasFinish()) NextFinish();
}

absl::Status RendezvousReceiver::ErrorOf(const FetchFailed& failed, const absl::Status& end) const {
  switch (failed.why) {
    case FetchFailure::kNone:
      break;
    case FetchFailure::kTooLong:
      return absl::ResourceExhaustedError(absl::StrCat("the message has ", failed.payload_bytes,
                                                       " bytes; message_bytes_max is ", limits_.message_bytes_max));
    case FetchFailure::kNoMemory:
      return absl::ResourceExhaustedError("no memory to land the message in");
    case FetchFailure::kWithdrawn:
      return absl::CancelledError("the sender withdrew the message");
    case FetchFailure::kCancelled:
      return absl::CancelledError("the receiver cancelled the fetch");
    case FetchFailure::kReadFailed:
      return absl::UnavailableError("an RDMA READ of the message failed");
    case FetchFailure::kBadIdentity:
      return absl::DataLossError("what was fetched is not what was announced: its identity does not match");
    case FetchFailure::kConnectionEnded:
      return end.ok() ? absl::UnavailableError("the connection was closed") : end;
  }
  return absl::OkStatus();
}

}  // namespace verbena::protocol
