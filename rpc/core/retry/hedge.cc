#include "rpc/core/retry/hedge.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace verbena::rpc {

absl::Status CheckHedgingPolicy(const HedgingPolicy& policy) {
  if (policy.attempts_max < 2 || policy.attempts_max > kHedgedAttemptsMax) {
    return absl::InvalidArgumentError(absl::StrCat("HedgingPolicy::attempts_max must be from 2 to ", kHedgedAttemptsMax,
                                                   "; it is ", policy.attempts_max));
  }
  if (policy.delay < absl::ZeroDuration()) {
    return absl::InvalidArgumentError(
        absl::StrCat("HedgingPolicy::delay must not be negative; it is ", absl::FormatDuration(policy.delay)));
  }
  if (std::find(policy.not_final.begin(), policy.not_final.end(), absl::StatusCode::kOk) != policy.not_final.end()) {
    return absl::InvalidArgumentError("HedgingPolicy::not_final names OK, which is no failure");
  }
  return absl::OkStatus();
}

void Hedge::ScheduleAt(absl::Time when) {
  const bool may = !stopped_ && attempts_ < policy_.attempts_max && when < deadline_;
  next_ = may ? when : absl::InfiniteFuture();
}

bool Hedge::ShouldAttempt(absl::Time now) {
  if (now < next_) return false;
  // One that takes the place of the last was promised when that ended.
  if (under_way() > 0 && !budget_.has_room()) {
    Stop();
    return false;
  }
  ++attempts_;
  ScheduleAt(now + policy_.delay);
  return true;
}

bool Hedge::OnAttemptEnded(const AttemptEnd& end, absl::Time now) {
  ++ended_;
  if (end.code == absl::StatusCode::kOk) {
    budget_.OnSuccess();
    return true;
  }
  const bool named = std::find(policy_.not_final.begin(), policy_.not_final.end(), end.code) != policy_.not_final.end();
  // What never reached a handler says nothing against the others: a full channel, most of all.
  if (!named) return end.certainty != Certainty::kNotSent || under_way() == 0;
  const bool never = end.pushback.has_value() && !end.pushback->delay.has_value();
  if (!budget_.OnFailure() || never) {
    Stop();
  } else {
    ScheduleAt(end.pushback.has_value() ? now + *end.pushback->delay : now);
  }
  return under_way() == 0 && next_ == absl::InfiniteFuture();
}

}  // namespace verbena::rpc
