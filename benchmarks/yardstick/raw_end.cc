#include "benchmarks/yardstick/raw_end.h"

#include <utility>

#include "benchmarks/yardstick/raw_send.h"

namespace verbena::benchmarks {

struct RawEnd::Parts {
  verbs::CmEventChannel cm_channel;
  RawMemory memory;
  verbs::ConnectionId id;
  std::unique_ptr<RawQueue> queue;
  verbs::MemoryRegion region;
  verbs::QueuePair queue_pair;
};

absl::StatusOr<std::unique_ptr<RawEnd>> RawEnd::Create(verbs::CmEventChannel channel, verbs::ConnectionId id,
                                                       const RawShape& shape) {
  RawMemory memory(id.api(), RawAreaBytes(shape.message_bytes) * (shape.receives + 1 + shape.ring_areas),
                   std::byte{0x5a});
  const uint32_t sends_max = shape.sends + kRawSignalEvery + shape.ring_areas;
  absl::StatusOr<std::unique_ptr<RawQueue>> queue =
      RawQueue::Create(id, shape.wait, sends_max + shape.receives + shape.others);
  if (!queue.ok()) return queue.status();
  absl::StatusOr<verbs::MemoryRegion> region = verbs::MemoryRegion::Register(
      (*queue)->domain(), memory.bytes(), IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ);
  if (!region.ok()) return region.status();
  absl::StatusOr<verbs::QueuePair> queue_pair = verbs::QueuePair::Create(id, (*queue)->domain(),
                                                                         {.send_completions = &(*queue)->queue(),
                                                                          .receive_completions = &(*queue)->queue(),
                                                                          .sends_max = sends_max,
                                                                          .receives_max = shape.receives,
                                                                          .inline_bytes_max = kRawInlineBytesWanted});
  if (!queue_pair.ok()) return queue_pair.status();

  std::unique_ptr<RawEnd> end(new RawEnd({std::move(channel), std::move(memory), std::move(id), *std::move(queue),
                                          *std::move(region), *std::move(queue_pair)},
                                         shape));
  for (uint32_t i = 0; i < shape.receives; ++i) {
    if (absl::Status status = end->PostReceive(); !status.ok()) return status;
  }
  return end;
}

RawEnd::RawEnd(Parts parts, const RawShape& shape)
    : cm_channel_(std::move(parts.cm_channel)),
      memory_(std::move(parts.memory)),
      id_(std::move(parts.id)),
      queue_(std::move(parts.queue)),
      region_(std::move(parts.region)),
      queue_pair_(std::move(parts.queue_pair)),
      shape_(shape) {}

RawEnd::~RawEnd() { queue_pair_.ModifyToError().IgnoreError(); }

ibv_sge RawEnd::Area(uint32_t index) const {
  const size_t area_bytes = RawAreaBytes(shape_.message_bytes);
  return {.addr = reinterpret_cast<uint64_t>(memory_.bytes().data()) + index * area_bytes,
          .length = static_cast<uint32_t>(shape_.message_bytes),
          .lkey = region_.lkey()};
}

RemoteRing RawEnd::own_ring() const { return {.address = Area(ring_area()).addr, .key = region_.rkey()}; }

absl::Status RawEnd::PostReceive() {
  ibv_sge area = Area(next_receive_);
  next_receive_ = (next_receive_ + 1) % shape_.receives;
  ibv_recv_wr request = {};
  request.wr_id = kReceive;
  request.sg_list = &area;
  request.num_sge = 1;
  ibv_recv_wr* first_unposted = nullptr;
  return queue_pair_.PostReceives(&request, &first_unposted);
}

absl::Status RawEnd::PostSend(bool last) { return PostRawSend(queue_pair_, Area(send_area()), &sends_, last); }

absl::Status RawEnd::PostRead(uint32_t index) {
  ibv_sge area = Area(ring_area() + index);
  ibv_send_wr request = {};
  request.wr_id = index;
  request.sg_list = &area;
  request.num_sge = 1;
  request.opcode = IBV_WR_RDMA_READ;
  request.send_flags = IBV_SEND_SIGNALED;
  request.wr.rdma.remote_addr = peer_ring_.address + index * RawAreaBytes(shape_.message_bytes);
  request.wr.rdma.rkey = peer_ring_.key;
  ibv_send_wr* first_unposted = nullptr;
  return queue_pair_.PostSends(&request, &first_unposted);
}

}  // namespace verbena::benchmarks
