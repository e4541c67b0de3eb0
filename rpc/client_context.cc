#include "rpc/client_context.h"

#include <algorithm>

#include "absl/time/clock.h"
#include "rpc/client_call_binding.h"

namespace verbena {

ClientContext::ClientContext() = default;
ClientContext::~ClientContext() = default;

void ClientContext::set_timeout(absl::Duration timeout) { timeout_ = timeout; }

void ClientContext::set_deadline(absl::Time deadline) { deadline_ = deadline; }

void ClientContext::TryCancel() {
  cancelled_.store(true);
  const uint64_t call_id = call_id_.load();
  if (call_id != 0) canceller_->CancelCall(call_id);
}

void ClientContext::Reset() {
  timeout_ = absl::InfiniteDuration();
  deadline_ = absl::InfiniteFuture();
  request_attachment_.Clear();
  request_metadata_.Clear();
  response_attachment_.Clear();
  response_metadata_.Clear();
  call_id_.store(0, std::memory_order_relaxed);
  cancelled_.store(false, std::memory_order_relaxed);
}

namespace rpc {

absl::Duration ClientCallBinding::TimeoutOf(const ClientContext& context) {
  if (context.deadline_ == absl::InfiniteFuture()) return context.timeout_;
  return std::min(context.timeout_, context.deadline_ - absl::Now());
}

bool ClientCallBinding::Bind(ClientContext& context, const std::shared_ptr<CallCanceller>& canceller,
                             uint64_t call_id) {
  context.response_attachment_.Clear();
  context.response_metadata_.Clear();
  // A context that is used again and again does not touch the canceller's count.
  if (context.canceller_ != canceller) context.canceller_ = canceller;
  context.call_id_.store(call_id);
  return context.cancelled_.load();
}

}  // namespace rpc
}  // namespace verbena
