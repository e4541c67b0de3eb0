// The admitted calls that wait for a thread to run their handlers: whose turn it is, who finds no place, and who has
// waited too long. Sans-IO: the driver brings calls and threads together.
//
// Clients take turns and share the places (fair_queue.h). How long a call may wait shrinks when the queue stands
// (queue_time.h). Of a client whose calls are refused for that, the newest goes first: its caller still waits, and the
// others are refused in time for theirs to go elsewhere.
//
// Order of calls: any, with a `now` that never goes back; PopOverdue until nullopt before each Pop, and at
// NextDeadline. Owner and thread: the driver's, one at a time. Allocates nothing once it has grown, but the words of a
// refusal.

#ifndef VERBENA_RPC_CORE_OVERLOAD_CALL_QUEUE_H_
#define VERBENA_RPC_CORE_OVERLOAD_CALL_QUEUE_H_

#include <cstddef>
#include <optional>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "rpc/core/overload/client_id.h"
#include "rpc/core/overload/fair_queue.h"
#include "rpc/core/overload/queue_time.h"

namespace verbena::rpc {

struct CallQueueOptions {
  size_t waiting_max = 1024;  // At least 1.
  absl::Duration time_max = absl::InfiniteDuration();
  absl::Duration time_target = absl::InfiniteDuration();
};

class CallQueue {
 public:
  // A call: with OK, its handler is to run; with anything else, it is to be answered with that, unrun.
  using Task = absl::AnyInvocable<void(absl::Status)>;
  struct Refusal {
    Task task;
    absl::Status status;  // RESOURCE_EXHAUSTED, in words.
  };

  explicit CallQueue(const CallQueueOptions& options)
      : time_(options.time_max, options.time_target), waiting_(options.waiting_max) {}

  // Returns the call that has no place, if one has not: this one, or one of a client with more that wait.
  std::optional<Refusal> Push(ClientId client, Task task, absl::Time now);
  bool HasPlaceFor(ClientId client) const { return waiting_.HasPlaceFor(client); }
  absl::Status NoPlace() const;  // Why it has none.

  // One that has waited too long.
  std::optional<Refusal> PopOverdue(absl::Time now);
  // The call whose turn it is; null: none waits.
  Task Pop();
  // Everything, unrun and unanswered.
  std::vector<Task> Clear();

  absl::Time NextDeadline() const {
    return waiting_.empty() ? absl::InfiniteFuture() : time_.DeadlineOf(waiting_.oldest_since());
  }
  size_t size() const { return waiting_.size(); }

 private:
  absl::Status Overdue(absl::Duration waited) const;

  QueueTime time_;
  FairQueue<Task> waiting_;
};

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_CORE_OVERLOAD_CALL_QUEUE_H_
