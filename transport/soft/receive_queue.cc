#include "transport/soft/receive_queue.h"

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <utility>

namespace verbena::soft {

ReceiveQueue::ReceiveQueue(uint32_t capacity, uint32_t segments_max)
    : segments_max_(segments_max),
      capacity_(capacity),
      index_(capacity),
      slots_(index_.places()),
      segments_(index_.places() * segments_max) {}

int ReceiveQueue::Push(const ibv_recv_wr& request) {
  if (request.num_sge < 0 || static_cast<uint32_t>(request.num_sge) > segments_max_) return EINVAL;
  if (size() == capacity()) return ENOMEM;
  size_t index = index_[tail_++];
  slots_[index] = {.wr_id = request.wr_id, .segment_count = static_cast<uint32_t>(request.num_sge)};
  std::copy_n(request.sg_list, request.num_sge, segments_.begin() + static_cast<ptrdiff_t>(index * segments_max_));
  return 0;
}

void ReceiveQueue::Resize(uint32_t capacity) {
  assert(capacity >= size());
  const RingIndex index(capacity);
  std::vector<Slot> slots(index.places());
  std::vector<ibv_sge> segments(index.places() * segments_max_);
  uint64_t count = size();
  for (uint64_t i = 0; i < count; ++i) {
    size_t from = index_[head_ + i];
    slots[i] = slots_[from];
    std::copy_n(segments_.begin() + static_cast<ptrdiff_t>(from * segments_max_), slots[i].segment_count,
                segments.begin() + static_cast<ptrdiff_t>(i * segments_max_));
  }
  slots_ = std::move(slots);
  segments_ = std::move(segments);
  capacity_ = capacity;
  index_ = index;
  head_ = 0;
  tail_ = count;
}

bool ReceiveQueue::Pop(ReceiveRequest* request) {
  if (size() == 0) return false;
  size_t index = index_[head_++];
  request->wr_id = slots_[index].wr_id;
  request->segment_count = slots_[index].segment_count;
  std::copy_n(segments_.begin() + static_cast<ptrdiff_t>(index * segments_max_), request->segment_count,
              request->segments.begin());
  return true;
}

}  // namespace verbena::soft
