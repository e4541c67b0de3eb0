// Which failed calls are made again, and when: what retries and hedging (hedge.h) have in common. Public API; values.
//
// gRPC's retry policy (its proposal A6), with one rule more: an attempt that a server may have begun is repeated only
// if the method is idempotent, whatever its status.

#ifndef VERBENA_RPC_CORE_RETRY_RETRY_POLICY_H_
#define VERBENA_RPC_CORE_RETRY_RETRY_POLICY_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "rpc/core/certainty.h"
#include "rpc/core/split_mix.h"

namespace verbena {

struct RetryPolicy {
  uint32_t attempts_max = 1;  // With the first; 1: none is made again.
  std::vector<absl::StatusCode> codes = {absl::StatusCode::kUnavailable};
  // To do it twice is as good as once: also what may have been executed is made again.
  bool idempotent = false;
  // Before the second attempt; from there it grows up to delay_max. Drawn from [1 - jitter, 1 + jitter) times that.
  absl::Duration delay_min = absl::Milliseconds(50);
  absl::Duration delay_max = absl::Seconds(2);
  double growth = 2;
  double jitter = 0.2;
};

// How much of a channel's calls retries may be: gRPC's throttling. Each failure that a policy names costs a token, each
// success gives `token_ratio` of one back; nothing is made again while half of the tokens or less are left. So an
// outage is not made worse by a multiple of its calls.
struct RetryBudgetOptions {
  double tokens_max = 10;
  double token_ratio = 0.1;
};

namespace rpc {

// InvalidArgument, naming the option, its value and what is allowed.
absl::Status CheckRetryPolicy(const RetryPolicy& policy);
absl::Status CheckRetryBudget(const RetryBudgetOptions& options);

// What a server says with "retry-pushback-ms" in its trailing metadata: a time to wait, or, with anything that is
// no number from 0 on, that the call is not to be made again.
struct RetryPushback {
  std::optional<absl::Duration> delay;  // Nothing: never again.
};
RetryPushback ParseRetryPushback(absl::string_view text);
inline constexpr absl::string_view kRetryPushbackKey = "retry-pushback-ms";

// How an attempt ended.
struct AttemptEnd {
  absl::StatusCode code = absl::StatusCode::kOk;
  Certainty certainty = Certainty::kExecuted;
  std::optional<RetryPushback> pushback;  // Nothing: the server did not say.
};

// Owner and thread: a lane's.
class RetryBudget {
 public:
  explicit RetryBudget(const RetryBudgetOptions& options) : options_(options), tokens_(options.tokens_max) {}

  void OnSuccess();
  // A failure that a policy names. Whether the budget has room for another attempt.
  bool OnFailure();
  bool has_room() const { return tokens_ > options_.tokens_max / 2; }

 private:
  const RetryBudgetOptions options_;
  double tokens_;
};

// Whether an attempt that ended like this may be followed by another.
bool IsRetryable(const RetryPolicy& policy, absl::StatusCode code, Certainty certainty);

// How long after the end of attempt `attempt`, from 1, the next is made, if the server does not say.
absl::Duration RetryDelay(const RetryPolicy& policy, uint32_t attempt, SplitMix64& random);

// The whole decision: how long after the end of attempt `attempt` the next is made; nothing: never. `time_left` is the
// call's; the budget is charged.
std::optional<absl::Duration> NextRetry(const RetryPolicy& policy, uint32_t attempt, const AttemptEnd& end,
                                        absl::Duration time_left, RetryBudget& budget, SplitMix64& random);

}  // namespace rpc
}  // namespace verbena

#endif  // VERBENA_RPC_CORE_RETRY_RETRY_POLICY_H_
