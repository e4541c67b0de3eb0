// One end of a raw verbs connection, for the yardstick: a queue pair with a receive queue of its own, one completion
// queue, one region of registered memory, and nothing else.
//
// Memory is areas of one message each: receives, one to send from, and a ring of areas that the peer reads from or that
// READs land in. Thread: one.

#ifndef VERBENA_BENCHMARKS_YARDSTICK_RAW_END_H_
#define VERBENA_BENCHMARKS_YARDSTICK_RAW_END_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "benchmarks/yardstick/raw_memory.h"
#include "benchmarks/yardstick/raw_queue.h"
#include "transport/verbs/cm_event_channel.h"
#include "transport/verbs/connection_id.h"
#include "transport/verbs/memory_region.h"
#include "transport/verbs/queue_pair.h"

namespace verbena::benchmarks {

struct RawShape {
  transport::WaitPolicy wait = transport::WaitPolicy::kBusy;
  size_t message_bytes = 64;  // At least 1.
  uint32_t ring_areas = 1;    // Of the ring for READs; also how many READs may be in flight.
  uint32_t receives = 2;      // Posted at a time; one more than the messages that may be on their way.
  uint32_t sends = 64;        // That may be on their way.
  uint32_t others = 0;        // Completions of other queue pairs that the completion queue has room for.
};

// Where the peer's ring stands; travels in the private data of the accept. Both ends are the same program.
struct RemoteRing {
  uint64_t address = 0;
  uint32_t key = 0;
};

class RawEnd {
 public:
  // Makes all objects on the device of `id`, whose address is resolved or which came with a request, and posts the
  // receives.
  static absl::StatusOr<std::unique_ptr<RawEnd>> Create(verbs::CmEventChannel channel, verbs::ConnectionId id,
                                                        const RawShape& shape);
  ~RawEnd();

  // Posts the next receive again.
  absl::Status PostReceive();
  // Sends one message's area, as PostRawSend.
  absl::Status PostSend(bool last);
  // Reads area `index` of the peer's ring into our own. Completes always; wr_id is the index.
  absl::Status PostRead(uint32_t index);

  // As CompletionWaiter.
  absl::Status Next(ibv_wc* completion) { return queue_->Next(completion); }

  void set_peer_ring(const RemoteRing& ring) { peer_ring_ = ring; }
  RemoteRing own_ring() const;
  verbs::CmEventChannel& cm_channel() { return cm_channel_; }
  verbs::ConnectionId& id() { return id_; }
  verbs::ProtectionDomain& domain() { return queue_->domain(); }
  verbs::CompletionQueue& queue() { return queue_->queue(); }
  const std::string& device_name() const { return queue_->device_name(); }
  const RawShape& shape() const { return shape_; }

 private:
  static constexpr uint64_t kReceive = UINT64_MAX;  // wr_id. READs have their area's index.

  struct Parts;
  RawEnd(Parts parts, const RawShape& shape);

  // The areas: receives, then the one to send from, then the ring.
  uint32_t send_area() const { return shape_.receives; }
  uint32_t ring_area() const { return shape_.receives + 1; }
  ibv_sge Area(uint32_t index) const;

  // Destroyed from the last to the first: the order that the verbs demand.
  verbs::CmEventChannel cm_channel_;
  RawMemory memory_;
  verbs::ConnectionId id_;
  std::unique_ptr<RawQueue> queue_;
  verbs::MemoryRegion region_;
  verbs::QueuePair queue_pair_;

  const RawShape shape_;
  RemoteRing peer_ring_;
  uint32_t next_receive_ = 0;
  uint32_t sends_ = 0;
};

}  // namespace verbena::benchmarks

#endif  // VERBENA_BENCHMARKS_YARDSTICK_RAW_END_H_
