// Posted receives in order of posting: what a queue pair's own receive queue and a shared one have in common.
//
// Bounded by the capacity it was made with; no allocation after that. No lock: its owner's.

#ifndef VERBENA_TRANSPORT_SOFT_RECEIVE_QUEUE_H_
#define VERBENA_TRANSPORT_SOFT_RECEIVE_QUEUE_H_

#include <infiniband/verbs.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "transport/soft/ring_index.h"

namespace verbena::soft {

inline constexpr uint32_t kSegmentsMax = 16;  // Scatter / gather elements of one work request.

struct ReceiveRequest {
  uint64_t wr_id = 0;
  uint32_t segment_count = 0;
  std::array<ibv_sge, kSegmentsMax> segments;

  absl::Span<const ibv_sge> used_segments() const { return {segments.data(), segment_count}; }
};

class ReceiveQueue {
 public:
  ReceiveQueue(uint32_t capacity, uint32_t segments_max);

  // 0; EINVAL: too many segments; ENOMEM: full.
  int Push(const ibv_recv_wr& request);
  // False if empty.
  bool Pop(ReceiveRequest* request);

  // Keeps what is posted, which must fit.
  void Resize(uint32_t capacity);

  uint32_t size() const { return static_cast<uint32_t>(tail_ - head_); }
  uint32_t capacity() const { return capacity_; }
  uint32_t segments_max() const { return segments_max_; }

 private:
  struct Slot {
    uint64_t wr_id;
    uint32_t segment_count;
  };

  const uint32_t segments_max_;
  uint32_t capacity_;
  RingIndex index_;
  std::vector<Slot> slots_;
  std::vector<ibv_sge> segments_;  // segments_max_ for each slot.
  uint64_t head_ = 0;
  uint64_t tail_ = 0;
};

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_RECEIVE_QUEUE_H_
