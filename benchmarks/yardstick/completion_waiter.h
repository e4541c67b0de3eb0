// Waits for completions on one completion queue by a policy, with as little in between as the verbs allow: the
// yardstick must not be slower than it has to be.

#ifndef VERBENA_BENCHMARKS_YARDSTICK_COMPLETION_WAITER_H_
#define VERBENA_BENCHMARKS_YARDSTICK_COMPLETION_WAITER_H_

#include <array>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "transport/event_loop.h"
#include "transport/verbs/completion_channel.h"
#include "transport/verbs/completion_queue.h"

namespace verbena::benchmarks {

// Both must outlive it. Thread: one.
class CompletionWaiter {
 public:
  CompletionWaiter(transport::WaitPolicy policy, verbs::CompletionChannel& channel, verbs::CompletionQueue& queue)
      : policy_(policy), channel_(channel), queue_(queue) {}

  // Makes the channel's descriptor blocking, so that sleeping is one system call, as in ib_send_lat -e. Once, before
  // Next.
  absl::Status Prepare();

  // The next completion. The error of a failed one, or of the queue.
  absl::Status Next(ibv_wc* completion) {
    while (next_ == filled_) {
      if (absl::Status status = Fill(); !status.ok()) return status;
    }
    *completion = completions_[next_++];
    return completion->status == IBV_WC_SUCCESS ? absl::OkStatus() : Failure(*completion);
  }

 private:
  // Takes the completions that are there, or waits once by the policy; may find none. Only when all that were taken
  // before have been handed out.
  absl::Status Fill();
  absl::Status Poll();
  static absl::Status Failure(const ibv_wc& completion);

  const transport::WaitPolicy policy_;
  verbs::CompletionChannel& channel_;
  verbs::CompletionQueue& queue_;

  std::array<ibv_wc, 16> completions_;
  int next_ = 0;
  int filled_ = 0;
};

}  // namespace verbena::benchmarks

#endif  // VERBENA_BENCHMARKS_YARDSTICK_COMPLETION_WAITER_H_
