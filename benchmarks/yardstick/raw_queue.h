// The completion queue that raw queue pairs report to, with what it stands on.

#ifndef VERBENA_BENCHMARKS_YARDSTICK_RAW_QUEUE_H_
#define VERBENA_BENCHMARKS_YARDSTICK_RAW_QUEUE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "benchmarks/yardstick/completion_waiter.h"
#include "transport/verbs/completion_channel.h"
#include "transport/verbs/completion_queue.h"
#include "transport/verbs/connection_id.h"
#include "transport/verbs/device.h"
#include "transport/verbs/protection_domain.h"

namespace verbena::benchmarks {

// Owner: who has the queue pairs. Thread: one.
class RawQueue {
 public:
  // On the device of `id`, whose address is resolved or which came with a request.
  static absl::StatusOr<std::unique_ptr<RawQueue>> Create(const verbs::ConnectionId& id, transport::WaitPolicy wait,
                                                          uint32_t entries);

  // As CompletionWaiter; of any of the queue pairs.
  absl::Status Next(ibv_wc* completion) { return waiter_.Next(completion); }

  verbs::ProtectionDomain& domain() { return domain_; }
  verbs::CompletionQueue& queue() { return queue_; }
  const std::string& device_name() const { return device_.name(); }

 private:
  RawQueue(verbs::Device device, verbs::ProtectionDomain domain, verbs::CompletionChannel channel,
           verbs::CompletionQueue queue, transport::WaitPolicy wait);

  // Destroyed from the last to the first: the order that the verbs demand.
  verbs::Device device_;
  verbs::ProtectionDomain domain_;
  verbs::CompletionChannel channel_;
  verbs::CompletionQueue queue_;
  CompletionWaiter waiter_;
};

}  // namespace verbena::benchmarks

#endif  // VERBENA_BENCHMARKS_YARDSTICK_RAW_QUEUE_H_
