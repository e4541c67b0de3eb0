#include "rpc/hedged_calls.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "rpc/certainty.h"
#include "rpc/client_call_binding.h"
#include "rpc/executor/callback_scope.h"
#include "rpc/protobuf_bytes.h"

namespace verbena::rpc {

HedgedCalls::HedgedCalls(uint32_t calls_max, transport::EventLoop* loop, std::shared_ptr<transport::LoopHandle> handle,
                         RetryBudget* budget, std::function<void(UserCall)> make_attempt)
    : loop_(*loop),
      handle_(std::move(handle)),
      budget_(*budget),
      make_attempt_(std::move(make_attempt)),
      calls_(calls_max),
      timer_(loop, this) {}

void HedgedCalls::Start(UserCall call, const HedgingPolicy* policy) {
  Hedge hedge(policy, &budget_, call.deadline);
  auto request = CopyOf(call.request);
  call.request = nullptr;  // Each attempt has the copy.
  call.request_copy = nullptr;
  const uint64_t id = *calls_.Emplace(Call{std::move(call), std::move(hedge), std::move(request), {}});
  if (ClientCallBinding::Bind(*calls_.Find(id)->user.context, shared_from_this(), id)) {
    return CancelCall(id, "the call was cancelled before it was made");
  }
  MakeAttempts(id);
}

void HedgedCalls::MakeAttempts(uint64_t id) {
  Call& call = calls_.At(id);
  while (call.hedge.ShouldAttempt(loop_.Now())) MakeAttempt(id, call);
  due_.Set(id, call.hedge.NextAttempt());
  timer_.SetBy(due_.NextDeadline());
}

void HedgedCalls::MakeAttempt(uint64_t id, Call& call) {
  const auto attempt = std::make_shared<Attempt>();
  attempt->context.CopyRequest(*call.user.context);
  attempt->request = call.request;
  attempt->reply.reset(call.user.reply->New());
  call.under_way.push_back(attempt);

  UserCall made;
  made.method = call.user.method;
  made.context = attempt->context.context();
  made.request = attempt->request.get();
  made.reply = attempt->reply.get();
  made.deadline = call.user.deadline;
  made.done = [self = shared_from_this(), id, attempt](absl::Status status) {
    self->OnAttemptEnded(id, attempt, std::move(status));
  };
  make_attempt_(std::move(made));
}

void HedgedCalls::OnAttemptEnded(uint64_t id, const std::shared_ptr<Attempt>& attempt, absl::Status status) {
  Call* const found = calls_.Find(id);
  if (found == nullptr) return;  // Another attempt's end was the call's.
  Call& call = *found;
  std::erase(call.under_way, attempt);
  call.user.certainty = std::max(call.user.certainty, GetCertainty(status));
  const AttemptEnd end = {status.code(), GetCertainty(status), PushbackIn(*attempt->context.context())};
  if (!call.hedge.OnAttemptEnded(end, loop_.Now())) return MakeAttempts(id);
  if (status.ok()) Assign(*attempt->reply, call.user.reply);
  attempt->context.Return(*call.user.context);
  End(id, std::move(status));
}

void HedgedCalls::End(uint64_t id, absl::Status status) {
  due_.Remove(id);
  Call call = *calls_.Take(id);
  for (const std::shared_ptr<Attempt>& attempt : call.under_way) attempt->context.context()->TryCancel();
  if (!call.under_way.empty()) call.user.certainty = std::max(call.user.certainty, Certainty::kOutcomeUnknown);
  const CallbackScope scope(this);
  FinishCall(std::move(call.user), std::move(status), MessageStream::Unread::kDrop);
}

void HedgedCalls::CancelCall(uint64_t id, absl::string_view reason) {
  transport::LoopHandle::Task task = [self = shared_from_this(), id, reason] {
    if (self->calls_.Find(id) == nullptr) return;
    self->End(id, WithCertainty(absl::CancelledError(reason), Certainty::kNotSent));
  };
  handle_->Post(task);
}

void HedgedCalls::EndAll(const absl::Status& why) {
  timer_.Cancel();
  calls_.ForEach([&](uint64_t id, Call&) { End(id, WithCertainty(why, Certainty::kNotSent)); });
}

void HedgedCalls::OnTime() {
  while (const std::optional<uint64_t> id = due_.PopExpired(loop_.Due())) MakeAttempts(*id);
  timer_.SetBy(due_.NextDeadline());
}

}  // namespace verbena::rpc
