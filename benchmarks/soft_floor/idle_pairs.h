// Connections that do nothing but exist: how the device bears many queue pairs on one completion queue.

#ifndef VERBENA_BENCHMARKS_SOFT_FLOOR_IDLE_PAIRS_H_
#define VERBENA_BENCHMARKS_SOFT_FLOOR_IDLE_PAIRS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "benchmarks/yardstick/raw_connect.h"
#include "transport/verbs/queue_pair.h"

namespace verbena::benchmarks {

// One side of some connections whose queue pairs report to the completion queue of another end, which must outlive
// them. Thread: one.
class IdlePairs {
 public:
  explicit IdlePairs(RawEnd& end) : end_(end) {}

  // Makes `count` more, one after the other; the other side calls the other one of these at the same time.
  absl::Status Connect(const verbs::VerbsApi& api, const std::string& host, uint16_t port, uint32_t count);
  absl::Status Accept(RawListener& listener, uint32_t count);

  // Waits until every one of them is told that its peer is gone.
  absl::Status AwaitDisconnects();

 private:
  struct Pair {
    ConnectingId connection;
    verbs::QueuePair queue_pair;
  };

  absl::Status Add(ConnectingId connection);

  RawEnd& end_;
  std::vector<std::unique_ptr<Pair>> pairs_;
};

// As many descriptors as this process may have at most: each connection needs some.
void RaiseDescriptorLimit();

}  // namespace verbena::benchmarks

#endif  // VERBENA_BENCHMARKS_SOFT_FLOOR_IDLE_PAIRS_H_
