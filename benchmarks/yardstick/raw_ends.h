// Messages there and back over many raw connections: their queue pairs report to one completion queue and draw from one
// shared receive queue, as those of one event loop do.

#ifndef VERBENA_BENCHMARKS_YARDSTICK_RAW_ENDS_H_
#define VERBENA_BENCHMARKS_YARDSTICK_RAW_ENDS_H_

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <queue>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "benchmarks/yardstick/load.h"
#include "benchmarks/yardstick/raw_connect.h"
#include "benchmarks/yardstick/raw_queue.h"
#include "transport/event_loop.h"
#include "transport/verbs/memory_region.h"
#include "transport/verbs/queue_pair.h"
#include "transport/verbs/shared_receive_queue.h"

namespace verbena::benchmarks {

// One side of `shape.connections` connections, which waits by a policy. Thread: one.
class RawEnds {
 public:
  // Blocking. The other side makes its own at the same time, of the same shape.
  static absl::StatusOr<std::unique_ptr<RawEnds>> Connect(const verbs::VerbsApi& api, const std::string& host,
                                                          uint16_t port, transport::WaitPolicy wait,
                                                          const LoadShape& shape);
  static absl::StatusOr<std::unique_ptr<RawEnds>> Accept(RawListener& listener, transport::WaitPolicy wait,
                                                         const LoadShape& shape);
  ~RawEnds();

  // Client: `shape.in_flight` messages on their way, each answer followed by a message over the next connection in
  // turn. The times of the round trips. Then tells the server that it is over; once.
  absl::StatusOr<LoadFigures> RunRoundTrips();

  // Server: answers each message over its connection, until it is over.
  absl::Status Serve();

 private:
  using Clock = std::chrono::steady_clock;
  struct Pair {
    ConnectingId connection;
    verbs::QueuePair queue_pair;
    uint32_t sends = 0;
    std::queue<Clock::time_point> starts;  // Of the messages that have no answer yet. Client only.
  };

  RawEnds(transport::WaitPolicy wait, const LoadShape& shape);

  // With the first connection the queues are made, on its device.
  absl::Status Add(ConnectingId connection);
  absl::Status MakeQueues(const verbs::ConnectionId& id);
  absl::Status PostReceive(uint32_t area);
  absl::Status PostSend(Pair& pair, bool last);
  absl::Status StartNext(Clock::time_point now);
  // The next message, whose receive is posted again, and who it came to.
  absl::StatusOr<Pair*> ReceiveMessage(ibv_wc* completion);

  size_t message_bytes() const { return std::max<size_t>(shape_.payload_bytes, 1); }
  size_t area_bytes() const;
  uint32_t receives() const { return static_cast<uint32_t>(shape_.in_flight) + 1; }
  ibv_sge Area(uint32_t index) const;

  const transport::WaitPolicy wait_;
  const LoadShape shape_;
  std::vector<std::byte> memory_;  // An area for each receive, then one to send from.

  // Destroyed from the last to the first: the order that the verbs demand.
  std::unique_ptr<RawQueue> queue_;
  std::unique_ptr<verbs::MemoryRegion> region_;
  std::unique_ptr<verbs::SharedReceiveQueue> receives_;
  std::vector<std::unique_ptr<Pair>> pairs_;

  absl::flat_hash_map<uint32_t, Pair*> by_number_;  // Of the queue pair.
  size_t next_ = 0;                                 // Of pairs_.
};

}  // namespace verbena::benchmarks

#endif  // VERBENA_BENCHMARKS_YARDSTICK_RAW_ENDS_H_
