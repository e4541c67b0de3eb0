// A call of which several attempts are under way at once: the first good answer counts. It pays a few more calls for a
// shorter tail: the slow server of the day is seldom asked by both attempts. Sans-IO.
//
// The first attempt is made at once, another whenever `delay` has passed without an answer, and one at once when an
// attempt ends with a code that is not final; the server may say when (RetryPushback), or never again. The call ends
// with the first attempt that succeeds or fails for good, or with the last that there is. Attempts beside others are
// made while the channel's budget has room. These are gRPC's rules (its proposal A6), but that an attempt which never
// reached a handler does not end the others, whatever its code.
//
// Order of calls: while ShouldAttempt, make an attempt; ask again at NextAttempt and after each end. Owner: the call's
// driver. Thread: its loop's.

#ifndef VERBENA_RPC_CORE_RETRY_HEDGE_H_
#define VERBENA_RPC_CORE_RETRY_HEDGE_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "rpc/core/retry/retry_policy.h"

namespace verbena {

// Public API; a value. Only for methods of which to do it several times is as good as once: the others may be executed
// as well.
struct HedgingPolicy {
  uint32_t attempts_max = 2;                      // With the first; at most kHedgedAttemptsMax.
  absl::Duration delay = absl::Milliseconds(20);  // From attempt to attempt: as long as most answers take. 0: at once.
  std::vector<absl::StatusCode> not_final = {absl::StatusCode::kUnavailable};  // What the other attempts may make good.
};

inline constexpr uint32_t kHedgedAttemptsMax = 5;  // gRPC's.

namespace rpc {

// InvalidArgument, naming the option, its value and what is allowed.
absl::Status CheckHedgingPolicy(const HedgingPolicy& policy);

class Hedge {
 public:
  // `policy` and `budget` outlive it. No attempt is made from `deadline` on.
  Hedge(const HedgingPolicy* policy, RetryBudget* budget, absl::Time deadline)
      : policy_(*policy), budget_(*budget), deadline_(deadline) {}

  // Whether to make one now; it counts as made.
  bool ShouldAttempt(absl::Time now);
  // InfiniteFuture: none will be.
  absl::Time NextAttempt() const { return next_; }

  // True: the call ends like this. Nothing is to be asked any more then.
  bool OnAttemptEnded(const AttemptEnd& end, absl::Time now);

  uint32_t attempts() const { return attempts_; }  // Made.
  uint32_t under_way() const { return attempts_ - ended_; }

 private:
  void ScheduleAt(absl::Time when);
  void Stop() {
    stopped_ = true;
    next_ = absl::InfiniteFuture();
  }

  const HedgingPolicy& policy_;
  RetryBudget& budget_;
  const absl::Time deadline_;
  absl::Time next_ = absl::InfinitePast();
  uint32_t attempts_ = 0;
  uint32_t ended_ = 0;
  bool stopped_ = false;  // No further attempt, whatever happens.
};

}  // namespace rpc
}  // namespace verbena

#endif  // VERBENA_RPC_CORE_RETRY_HEDGE_H_
