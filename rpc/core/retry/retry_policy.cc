#include "rpc/core/retry/retry_policy.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace verbena::rpc {

absl::Status CheckRetryPolicy(const RetryPolicy& policy) {
  if (policy.attempts_max < 1) return absl::InvalidArgumentError("RetryPolicy::attempts_max must be at least 1");
  if (policy.delay_min <= absl::ZeroDuration() || policy.delay_max < policy.delay_min) {
    return absl::InvalidArgumentError(
        absl::StrCat("RetryPolicy::delay_min must be positive and at most delay_max; they are ",
                     absl::FormatDuration(policy.delay_min), " and ", absl::FormatDuration(policy.delay_max)));
  }
  if (!(policy.growth >= 1)) {
    return absl::InvalidArgumentError(absl::StrCat("RetryPolicy::growth must be at least 1; it is ", policy.growth));
  }
  if (!(policy.jitter >= 0 && policy.jitter < 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("RetryPolicy::jitter must be from 0 to below 1; it is ", policy.jitter));
  }
  if (std::find(policy.codes.begin(), policy.codes.end(), absl::StatusCode::kOk) != policy.codes.end()) {
    return absl::InvalidArgumentError("RetryPolicy::codes names OK, which is no failure");
  }
  return absl::OkStatus();
}

absl::Status CheckRetryBudget(const RetryBudgetOptions& options) {
  if (!(options.tokens_max > 0) || !(options.token_ratio > 0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("RetryBudgetOptions::tokens_max and token_ratio must be positive; they are ", options.tokens_max,
                     " and ", options.token_ratio));
  }
  return absl::OkStatus();
}

bool IsRetryable(const RetryPolicy& policy, absl::StatusCode code, Certainty certainty) {
  const bool named = std::find(policy.codes.begin(), policy.codes.end(), code) != policy.codes.end();
  return named && (policy.idempotent || certainty == Certainty::kNotSent);
}

absl::Duration RetryDelay(const RetryPolicy& policy, uint32_t attempt, SplitMix64& random) {
  const absl::Duration grown = policy.delay_min * std::pow(policy.growth, attempt - 1);
  return std::min(grown, policy.delay_max) * random.NextJitterFactor(policy.jitter);
}

RetryPushback ParseRetryPushback(absl::string_view text) {
  uint32_t milliseconds = 0;
  if (!absl::SimpleAtoi(text, &milliseconds)) return {};
  return {absl::Milliseconds(milliseconds)};
}

void RetryBudget::OnSuccess() { tokens_ = std::min(options_.tokens_max, tokens_ + options_.token_ratio); }

bool RetryBudget::OnFailure() {
  tokens_ = std::max(0.0, tokens_ - 1);
  return has_room();
}

std::optional<absl::Duration> NextRetry(const RetryPolicy& policy, uint32_t attempt, const AttemptEnd& end,
                                        absl::Duration time_left, RetryBudget& budget, SplitMix64& random) {
  if (end.code == absl::StatusCode::kOk) {
    budget.OnSuccess();
    return std::nullopt;
  }
  if (!IsRetryable(policy, end.code, end.certainty)) return std::nullopt;
  if (!budget.OnFailure() || attempt >= policy.attempts_max) return std::nullopt;
  const absl::Duration ours = RetryDelay(policy, attempt, random);
  const std::optional<absl::Duration> delay = end.pushback.has_value() ? end.pushback->delay : ours;
  return delay.has_value() && *delay < time_left ? delay : std::nullopt;
}

}  // namespace verbena::rpc
