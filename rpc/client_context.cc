#include "rpc/client_context.h"

#include <utility>

#include "base/clear_cord.h"
#include "rpc/cancel/nested_calls.h"
#include "rpc/client_call_binding.h"
#include "rpc/server_context.h"

namespace verbena {

ClientContext::ClientContext() = default;
ClientContext::~ClientContext() = default;

void ClientContext::set_timeout(absl::Duration timeout) { timeout_ = timeout; }

void ClientContext::set_deadline(absl::Time deadline) { deadline_ = deadline; }

void ClientContext::TryCancel() {
  cancelled_.store(true);
  if (call_id_.load() == 0) return;  // Who starts the call sees the other.
  std::shared_ptr<rpc::CallCanceller> canceller;
  uint64_t call_id;
  {
    const std::lock_guard lock(canceller_mu_);
    canceller = canceller_;
    call_id = call_id_.load();
  }
  canceller->CancelCall(call_id, "the caller cancelled the call");
}

void ClientContext::FollowServerContext(const ServerContext& parent) {
  parent_ = parent.signal_.nested_calls(parent.deadline());
}

void ClientContext::Reset() {
  timeout_ = absl::InfiniteDuration();
  deadline_ = absl::InfiniteFuture();
  propagate_ = true;
  wait_for_ready_ = false;
  hash_key_.reset();
  parent_ = nullptr;
  ClearCord(request_attachment_);
  request_metadata_.Clear();
  ClearCord(response_attachment_);
  response_metadata_.Clear();
  call_id_.store(0, std::memory_order_relaxed);
  if (std::exchange(adopted_, false)) canceller_ = nullptr;
  cancelled_.store(false, std::memory_order_relaxed);
}

namespace rpc {

void ClientCallBinding::LeadTo(ClientContext& context, std::shared_ptr<CallCanceller> canceller, uint64_t call_id) {
  std::unique_lock lock(context.canceller_mu_, std::defer_lock);
  if (context.call_id_.load(std::memory_order_relaxed) != 0) lock.lock();
  context.canceller_.swap(canceller);
  context.call_id_.store(call_id);
}

bool ClientCallBinding::BindAnew(ClientContext& context, const std::shared_ptr<CallCanceller>& canceller,
                                 uint64_t call_id) {
  // A call that goes from one to the next is in one place only.
  if (context.parent_ != nullptr && context.canceller_ != nullptr) {
    context.parent_->Remove(context.canceller_, context.call_id_.load(std::memory_order_relaxed));
  }
  if (context.canceller_ != canceller) {
    LeadTo(context, canceller, call_id);
  } else {
    context.call_id_.store(call_id);
  }
  const bool follows = context.parent_ == nullptr || context.parent_->Add(canceller, call_id);
  return context.cancelled_.load() || !follows;
}

void ClientCallBinding::LeaveParent(ClientContext& context) {
  std::exchange(context.parent_, nullptr)->Remove(context.canceller_, context.call_id_.load(std::memory_order_relaxed));
}

}  // namespace rpc
}  // namespace verbena
