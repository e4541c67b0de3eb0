#include "rpc/waiting_calls.h"

#include <algorithm>
#include <utility>

#include "rpc/certainty.h"
#include "rpc/executor/callback_scope.h"

namespace verbena::rpc {

void WaitingCalls::Add(UserCall call, absl::Time until) {
  const uint64_t id = ++last_id_;
  const bool cancelled = ClientCallBinding::Bind(*call.context, shared_from_this(), id);
  calls_.emplace(id, Waiting{std::move(call), until});
  next_deadline_ = std::min(next_deadline_, until);
  if (cancelled) CancelCall(id, "the call was cancelled before it was made");
}

void WaitingCalls::TakeEach(absl::FunctionRef<void(UserCall)> take) {
  std::map<uint64_t, Waiting> taken = std::exchange(calls_, {});
  for (auto& [id, waiting] : taken) take(std::move(waiting.call));
}

void WaitingCalls::TakeExpired(absl::Time now, absl::FunctionRef<void(UserCall)> take) {
  if (now < next_deadline_) return;
  next_deadline_ = absl::InfiniteFuture();
  std::vector<UserCall> expired;
  for (auto waiting = calls_.begin(); waiting != calls_.end();) {
    if (waiting->second.until > now) {
      next_deadline_ = std::min(next_deadline_, waiting->second.until);
      ++waiting;
      continue;
    }
    expired.push_back(std::move(waiting->second.call));
    waiting = calls_.erase(waiting);
  }
  for (UserCall& call : expired) take(std::move(call));
}

void WaitingCalls::EndAll(const absl::Status& why) {
  TakeEach([&why](UserCall call) { End(std::move(call), why); });
}

void WaitingCalls::End(UserCall call, absl::Status status) {
  const CallbackScope scope(call.context);
  SetCertainty(&status, Certainty::kNotSent);
  FinishCall(std::move(call), std::move(status), MessageStream::Unread::kDrop);
}

void WaitingCalls::CancelCall(uint64_t id, absl::string_view reason) {
  transport::LoopHandle::Task task = [self = shared_from_this(), id, reason] { self->EndCancelled(id, reason); };
  loop_->Post(task);
}

void WaitingCalls::EndCancelled(uint64_t id, absl::string_view reason) {
  auto waiting = calls_.extract(id);
  if (!waiting.empty()) End(std::move(waiting.mapped().call), absl::CancelledError(reason));
}

}  // namespace verbena::rpc
