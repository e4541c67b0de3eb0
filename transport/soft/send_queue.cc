#include "transport/soft/send_queue.h"

#include <algorithm>
#include <cerrno>

#include "transport/soft/record.h"
#include "transport/soft/segments.h"

namespace verbena::soft {
namespace {

bool IsSupported(ibv_wr_opcode opcode) {
  switch (opcode) {
    case IBV_WR_SEND:
    case IBV_WR_SEND_WITH_IMM:
    case IBV_WR_SEND_WITH_INV:
    case IBV_WR_RDMA_WRITE:
    case IBV_WR_RDMA_WRITE_WITH_IMM:
    case IBV_WR_RDMA_READ:
      return true;
    default:
      return false;
  }
}

int CheckBinding(const ibv_send_wr& request) {
  const ibv_mw* window = request.bind_mw.mw;
  const ibv_mw_bind_info& wish = request.bind_mw.bind_info;
  constexpr unsigned kAccess = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;
  if (window == nullptr || window->type != IBV_MW_TYPE_2 || wish.mr == nullptr ||
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

bool IsOneSided(ibv_wr_opcode opcode) {
  return opcode == IBV_WR_RDMA_READ || opcode == IBV_WR_RDMA_WRITE || opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}

}  // namespace

SendQueue::SendQueue(uint32_t capacity, uint32_t segments_max, uint32_t inline_bytes_max)
    : segments_max_(segments_max),
      inline_bytes_max_(inline_bytes_max),
      slots_(capacity),
      segments_(size_t{capacity} * segments_max),
      inline_bytes_(size_t{capacity} * inline_bytes_max) {}

int SendQueue::Check(const ibv_send_wr& request) const {
  if (request.opcode == IBV_WR_BIND_MW) return CheckBinding(request);
  if (request.opcode == IBV_WR_LOCAL_INV) return 0;
  if (!IsSupported(request.opcode) || request.num_sge < 0 || static_cast<uint32_t>(request.num_sge) > segments_max_) {
    return EINVAL;
  }
  bool is_inline = (request.send_flags & IBV_SEND_INLINE) != 0;
  uint64_t length = TotalBytes({request.sg_list, static_cast<size_t>(request.num_sge)});
  if (length > kMessageBytesMax) return EINVAL;
  if (is_inline && (length > inline_bytes_max_ || request.opcode == IBV_WR_RDMA_READ)) return EINVAL;
  return 0;
}

int SendQueue::Append(const ibv_send_wr& request, bool signaled) {
  if (int error = Check(request); error != 0) return error;
  if (full()) return ENOMEM;
  if (IsLocalOperation(request.opcode)) {
    AppendLocal(request, signaled);
    return 0;
  }
  bool is_inline = (request.send_flags & IBV_SEND_INLINE) != 0;
  Segments segments(request.sg_list, static_cast<size_t>(request.num_sge));
  size_t index = tail_++ % slots_.size();
  absl::Span<ibv_sge> own_segments(&segments_[index * segments_max_], segments.size());
  std::copy(segments.begin(), segments.end(), own_segments.begin());
  slots_[index] = {
      .wr_id = request.wr_id,
      .state = SendEntry::State::kQueued,
      .opcode = request.opcode,
      .signaled = signaled,
      .solicited = (request.send_flags & IBV_SEND_SOLICITED) != 0,
      .is_inline = is_inline,
      .checked = is_inline,
      .copied_directly = false,
      .immediate = request.imm_data,
      .remote_key = IsOneSided(request.opcode) ? request.wr.rdma.rkey : 0,
      .remote_address = IsOneSided(request.opcode) ? request.wr.rdma.remote_addr : 0,
      .length = TotalBytes(segments),
      .sent_bytes = 0,
      .number = 0,
      .binding = {},
      .outcome = {},
      .planned_failure = IBV_WC_SUCCESS,
      .segments = own_segments,
  };
  return 0;
}

void SendQueue::AppendLocal(const ibv_send_wr& request, bool signaled) {
  SendEntry& entry = slots_[tail_++ % slots_.size()];
  entry = {};
  entry.wr_id = request.wr_id;
  entry.opcode = request.opcode;
  entry.signaled = signaled;
  entry.checked = true;
  entry.immediate = request.invalidate_rkey;
  if (request.opcode == IBV_WR_BIND_MW) entry.binding = BindingOf(request);
}

void SendQueue::KeepInlineBytes() {
  for (kept_ = std::max(kept_, unsent_); kept_ < tail_; ++kept_) {
    size_t index = kept_ % slots_.size();
    SendEntry& entry = slots_[index];
    if (!entry.is_inline || entry.length == 0) continue;
    std::byte* own = &inline_bytes_[index * inline_bytes_max_];
    Gather(entry.segments, 0, entry.length, own);
    entry.segments = entry.segments.subspan(0, 1);
    entry.segments[0] = {
        .addr = reinterpret_cast<uint64_t>(own), .length = static_cast<uint32_t>(entry.length), .lkey = 0};
  }
}

void SendQueue::PopHead() {
  ++head_;
  unsent_ = std::max(unsent_, head_);
}

uint64_t SendQueue::FirstSignaledAfter(uint64_t accepted) {
  for (uint64_t i = head_; i < unsent_; ++i) {
    const SendEntry& entry = slots_[i % slots_.size()];
    if (entry.signaled && entry.state == SendEntry::State::kSent && entry.number > accepted) return entry.number;
  }
  return 0;
}

}  // namespace verbena::soft
