#include "transport/send_list.h"

namespace verbena::transport {

ibv_send_wr& SendList::Append(uint64_t wr_id, uint64_t address, uint32_t length, uint32_t lkey) {
  ibv_sge& segment = segments_[size_];
  segment = {.addr = address, .length = length, .lkey = lkey};
  ibv_send_wr& request = requests_[size_];
  request.wr_id = wr_id;
  request.next = nullptr;
  request.imm_data = 0;  // Nobody's here; but Soft-RoCE refuses a bind in whose place an invalidation's key was left.
  request.sg_list = &segment;
  request.num_sge = 1;
  request.send_flags = IBV_SEND_SIGNALED;
  if (size_ > 0) requests_[size_ - 1].next = &request;
  ++size_;
  room_ = 0;
  return request;
}

void SendList::QueueSend(uint64_t wr_id, const void* bytes, uint32_t length, uint32_t lkey, bool send_inline) {
  ibv_send_wr& request = Append(wr_id, reinterpret_cast<uint64_t>(bytes), length, lkey);
  request.opcode = IBV_WR_SEND;
  request.send_flags |= IBV_SEND_SOLICITED;  // A peer that sleeps is to wake for it: wire::kFeatureSolicited.
  if (send_inline) request.send_flags |= IBV_SEND_INLINE;
  CoverBefore(request);
}

void SendList::CoverBefore(ibv_send_wr& request) {
  if (coverable_ != nullptr) coverable_->send_flags &= ~IBV_SEND_SIGNALED;
  coverable_ = &request;
}

ibv_send_wr& SendList::QueueBind(uint64_t wr_id) {
  ibv_send_wr& request = Append(wr_id, 0, 0, 0);
  covers_ = true;
  CoverBefore(request);
  return request;
}

// Its completion does not wait for a SEND behind it: a peer that takes none would keep the memory.
ibv_send_wr& SendList::QueueInvalidate(uint64_t wr_id) {
  ibv_send_wr& request = Append(wr_id, 0, 0, 0);
  covers_ = true;
  coverable_ = nullptr;
  return request;
}

void SendList::QueueRead(uint64_t wr_id, void* to, uint32_t length, uint32_t lkey, uint64_t remote_address,
                         uint32_t rkey) {
  ibv_send_wr& request = Append(wr_id, reinterpret_cast<uint64_t>(to), length, lkey);
  covers_ |= coverable_ != nullptr;
  awaited_ = true;
  coverable_ = nullptr;
  request.opcode = IBV_WR_RDMA_READ;
  request.wr.rdma.remote_addr = remote_address;
  request.wr.rdma.rkey = rkey;
}

bool SendList::LeaveUnsignaled() {
  if (awaited_ || covers_ || coverable_ == nullptr) return false;
  coverable_->send_flags &= ~IBV_SEND_SIGNALED;
  return true;
}

absl::Status SendList::Flush(verbs::QueuePair& queue_pair, ibv_send_wr** unposted) {
  return queue_pair.PostSends(Discard(), unposted);
}

ibv_send_wr* SendList::Discard() {
  size_ = 0;
  joined_ = 0;
  room_ = 0;
  coverable_ = nullptr;
  covers_ = false;
  awaited_ = false;
  return &requests_[0];
}

}  // namespace verbena::transport
