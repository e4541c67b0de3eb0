#include "transport/soft/send_queue.h"

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "transport/soft/byte_ring.h"
#include "transport/soft/record.h"
#include "transport/soft/segments.h"
#include "transport/soft/work_opcodes.h"

namespace verbena::soft {
namespace {

constexpr uint32_t kPlacesInitial = 4;

bool IsSupported(ibv_wr_opcode opcode) {
  switch (opcode) {
    case IBV_WR_SEND:
    case IBV_WR_SEND_WITH_IMM:
    case IBV_WR_SEND_WITH_INV:
    case IBV_WR_RDMA_WRITE:
    case IBV_WR_RDMA_WRITE_WITH_IMM:
    case IBV_WR_RDMA_READ:
    case IBV_WR_ATOMIC_CMP_AND_SWP:
    case IBV_WR_ATOMIC_FETCH_AND_ADD:
      return true;
    default:
      return false;
  }
}

int CheckBinding(const ibv_send_wr& request) {
  const ibv_mw* window = request.bind_mw.mw;
  const ibv_mw_bind_info& wish = request.bind_mw.bind_info;
  constexpr unsigned kAccess = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;
  // Immediate data have no place in a bind; Soft-RoCE says so too.
  if (window == nullptr || window->type != IBV_MW_TYPE_2 || wish.mr == nullptr || request.imm_data != 0 ||
      (wish.mw_access_flags & ~kAccess) != 0) {
    return EINVAL;
  }
  if (window->rkey >> 8 != request.bind_mw.rkey >> 8) return EINVAL;
  return window->pd == wish.mr->pd ? 0 : EPERM;
}

// Of a request that CheckBinding allows.
WindowBinding BindingOf(const ibv_send_wr& request) {
  const ibv_mw_bind_info& wish = request.bind_mw.bind_info;
  return {.window_key = request.bind_mw.rkey,
          .region_key = wish.mr->lkey,
          .range = {.address = wish.addr, .length = wish.length},
          .access = wish.mw_access_flags};
}

// What a one-sided request is about, of the fields that its opcode uses.
struct Target {
  uint64_t address = 0;
  uint32_t key = 0;
  uint64_t operand = 0;
  uint64_t swap = 0;
};

Target TargetOf(const ibv_send_wr& request) {
  if (IsAtomic(request.opcode)) {
    const auto& atomic = request.wr.atomic;
    return {.address = atomic.remote_addr, .key = atomic.rkey, .operand = atomic.compare_add, .swap = atomic.swap};
  }
  if (IsOneSided(request.opcode)) return {.address = request.wr.rdma.remote_addr, .key = request.wr.rdma.rkey};
  return {};
}

// A multiple of a cache line, so that entries are aligned.
size_t SlotBytes(uint32_t segments_max, uint32_t inline_bytes_max) {
  return RecordBytes(sizeof(SendEntry) + segments_max * sizeof(ibv_sge) + inline_bytes_max);
}

}  // namespace

SendQueue::SendQueue(uint32_t capacity, uint32_t segments_max, uint32_t inline_bytes_max)
    : capacity_(capacity),
      segments_max_(segments_max),
      inline_bytes_max_(inline_bytes_max),
      index_(std::min(capacity, kPlacesInitial)),
      slot_bytes_(SlotBytes(segments_max, inline_bytes_max)),
      slots_(index_.places() * slot_bytes_) {}

int SendQueue::Check(const ibv_send_wr& request) const {
  if (request.opcode == IBV_WR_BIND_MW) return CheckBinding(request);
  if (request.opcode == IBV_WR_LOCAL_INV) return 0;
  if (!IsSupported(request.opcode) || request.num_sge < 0 || static_cast<uint32_t>(request.num_sge) > segments_max_) {
    return EINVAL;
  }
  bool is_inline = (request.send_flags & IBV_SEND_INLINE) != 0;
  uint64_t length = TotalBytes({request.sg_list, static_cast<size_t>(request.num_sge)});
  if (length > kMessageBytesMax) return EINVAL;
  if (is_inline && (length > inline_bytes_max_ || WantsAnswer(request.opcode))) return EINVAL;
  return 0;
}

int SendQueue::Append(const ibv_send_wr& request, bool signaled) {
  if (int error = Check(request); error != 0) return error;
  if (full() || !Reserve(1)) return ENOMEM;
  if (IsLocalOperation(request.opcode)) {
    AppendLocal(request, signaled);
    return 0;
  }
  bool is_inline = (request.send_flags & IBV_SEND_INLINE) != 0;
  Segments segments(request.sg_list, static_cast<size_t>(request.num_sge));
  Target target = TargetOf(request);
  const uint64_t place = tail_++;
  absl::Span<ibv_sge> own_segments(SegmentsOf(place), segments.size());
  std::copy(segments.begin(), segments.end(), own_segments.begin());
  SendEntry& entry = Entry(place);  // In place: to copy what was just written in pieces stalls the processor.
  entry.wr_id = request.wr_id;
  entry.state = SendEntry::State::kQueued;
  entry.direct_copy = SendEntry::DirectCopy::kNotDone;
  entry.opcode = request.opcode;
  entry.signaled = signaled;
  entry.solicited = (request.send_flags & IBV_SEND_SOLICITED) != 0;
  entry.fenced = (request.send_flags & IBV_SEND_FENCE) != 0;
  entry.is_inline = is_inline;
  entry.checked = false;
  entry.answered = false;
  entry.answers_due = 0;
  entry.immediate = request.imm_data;
  entry.remote_key = target.key;
  entry.remote_address = target.address;
  entry.operand = target.operand;
  entry.swap = target.swap;
  entry.length = TotalBytes(segments);
  entry.fetched_bytes = 0;
  entry.sent_bytes = 0;
  entry.received_bytes = 0;
  entry.number = 0;
  entry.outcome = {};
  entry.planned = {};
  entry.segments = own_segments;
  return 0;
}

bool SendQueue::Grow(size_t count) {
  const RingIndex index(static_cast<uint32_t>(std::max(2 * index_.places(), tail_ - head_ + count)));
  try {
    UntouchedArray<std::byte> slots(index.places() * slot_bytes_);
    for (uint64_t i = head_; i < tail_; ++i) {
      const uint64_t inline_bytes_before = reinterpret_cast<uint64_t>(InlineBytesOf(i));
      const size_t inline_bytes_at = static_cast<size_t>(InlineBytesOf(i) - Slot(i));
      std::byte* const slot = &slots[index[i] * slot_bytes_];
      std::memcpy(slot, Slot(i), slot_bytes_);
      SendEntry& entry = *reinterpret_cast<SendEntry*>(slot);
      entry.segments = {reinterpret_cast<ibv_sge*>(slot + sizeof(SendEntry)), entry.segments.size()};
      if (!entry.is_inline || entry.segments.empty() || entry.segments[0].addr != inline_bytes_before) continue;
      entry.segments[0].addr = reinterpret_cast<uint64_t>(slot + inline_bytes_at);
    }
    slots_ = std::move(slots);
    index_ = index;
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

void SendQueue::AppendLocal(const ibv_send_wr& request, bool signaled) {
  SendEntry& entry = Entry(tail_++);
  entry = {};
  entry.wr_id = request.wr_id;
  entry.opcode = request.opcode;
  entry.signaled = signaled;
  entry.fenced = (request.send_flags & IBV_SEND_FENCE) != 0;
  entry.checked = true;
  entry.immediate = request.invalidate_rkey;
  if (request.opcode == IBV_WR_BIND_MW) entry.binding = BindingOf(request);
}

void SendQueue::KeepInlineBytes() {
  for (kept_ = std::max(kept_, unsent_); kept_ < tail_; ++kept_) {
    SendEntry& entry = Entry(kept_);
    if (!entry.is_inline || entry.length == 0 || entry.state == SendEntry::State::kSent) continue;
    std::byte* own = InlineBytesOf(kept_);
    Gather(entry.segments, 0, entry.length, own);
    entry.segments = entry.segments.subspan(0, 1);
    entry.segments[0] = {
        .addr = reinterpret_cast<uint64_t>(own), .length = static_cast<uint32_t>(entry.length), .lkey = 0};
  }
}

void SendQueue::AdvanceUnsent() {
  if (first_unsent().signaled) ++signaled_handed_over_;
  ++unsent_;
}

SendEntry* SendQueue::next_ahead() {
  ahead_ = std::max(ahead_, unsent_ + 1);
  return ahead_ < tail_ ? &Entry(ahead_) : nullptr;
}

void SendQueue::PopHead() {
  if (head_ != unsent_ && head().signaled) --signaled_handed_over_;
  ++head_;
  unsent_ = std::max(unsent_, head_);
  if (!empty()) return;
  head_ = unsent_ = tail_ = ahead_ = unanswered_ = kept_ = 0;  // The places in use stay few, and in the cache.
}

SendEntry& SendQueue::oldest_unanswered() {
  for (unanswered_ = std::max(unanswered_, head_);; ++unanswered_) {
    assert(unanswered_ <= unsent_ && unanswered_ < tail_);
    SendEntry& entry = Entry(unanswered_);
    if (entry.answers_due != 0) return entry;
  }
}

uint64_t SendQueue::FirstSignaledAfter(uint64_t accepted) {
  uint64_t number = 0;
  for (uint64_t i = head_; i < unsent_; ++i) {
    const SendEntry& entry = Entry(i);
    if (entry.state == SendEntry::State::kSent) number = std::max(number, entry.number);
    if (entry.signaled && number > accepted) return number;
  }
  return 0;
}

}  // namespace verbena::soft
