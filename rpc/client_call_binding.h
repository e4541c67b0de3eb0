// The runtime's side of a ClientContext: what the user asked of the call, and the ends of TryCancel.
//
// Thread: the loop's, but for FollowHandler.

#ifndef VERBENA_RPC_CLIENT_CALL_BINDING_H_
#define VERBENA_RPC_CLIENT_CALL_BINDING_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/cord.h"
#include "absl/time/time.h"
#include "base/clear_cord.h"
#include "rpc/cancel/call_canceller.h"
#include "rpc/cancel/nested_calls.h"
#include "rpc/client_context.h"
#include "rpc/executor/handler_scope.h"
#include "transport/event_loop.h"

namespace verbena::rpc {

class ClientCallBinding {
 public:
  // When a call is made, on the caller's thread: if that is within a handler, the call follows the handler's, unless
  // the context says otherwise.
  static void FollowHandler(ClientContext& context) {
    if (!context.propagate_ || context.parent_ != nullptr) return;
    if (const ServerContext* handled = HandlerScope::current()) context.FollowServerContext(*handled);
  }

  // When the call must be complete, on its loop's clock: as the context says, or else after `default_timeout`; and no
  // later than the call that this one follows. What time it is does not depend on how long this turn has lasted: a call
  // that is late already is not made.
  static absl::Time DeadlineOf(const ClientContext& context, absl::Duration default_timeout,
                               transport::EventLoop& loop) {
    absl::Duration timeout = context.timeout_;
    const auto end_by = [&loop, &timeout](absl::Time deadline) {
      if (deadline == absl::InfiniteFuture()) return;
      loop.ReadNow();  // And with it the wall clock.
      timeout = std::min(timeout, deadline - loop.WallNow());
    };
    end_by(context.deadline_);
    if (timeout == absl::InfiniteDuration()) timeout = default_timeout;
    if (context.parent_ != nullptr) end_by(context.parent_->deadline());
    return timeout == absl::InfiniteDuration() ? absl::InfiniteFuture() : loop.RecentNow() + timeout;
  }
  static bool WaitsForReady(const ClientContext& context) { return context.wait_for_ready_; }
  static const std::optional<std::string>& HashKey(const ClientContext& context) { return context.hash_key_; }
  static const absl::Cord& RequestAttachment(const ClientContext& context) { return context.request_attachment_; }
  static void SetResponseAttachment(ClientContext& context, absl::Cord attachment) {
    context.response_attachment_ = std::move(attachment);
  }
  static const Metadata& RequestMetadata(const ClientContext& context) { return context.request_metadata_; }
  static ResponseMetadata& ResponseMetadataOf(ClientContext& context) { return context.response_metadata_; }

  // From here on TryCancel reaches the call at `canceller`, by this id, and no more where it was before.
  static void LeadTo(ClientContext& context, std::shared_ptr<CallCanceller> canceller, uint64_t call_id);
  // From here on TryCancel and the call that this one follows reach it. True: it is cancelled already.
  static bool Bind(ClientContext& context, const std::shared_ptr<CallCanceller>& canceller, uint64_t call_id) {
    ClearCord(context.response_attachment_);
    context.response_metadata_.Clear();
    // A context that is used again and again does not touch the canceller's count.
    if (context.parent_ != nullptr || context.canceller_ != canceller) return BindAnew(context, canceller, call_id);
    context.call_id_.store(call_id);
    return context.cancelled_.load();
  }
  // The call is complete, bound or not; before its completion runs.
  static void Unbind(ClientContext& context) {
    if (context.parent_ != nullptr) LeaveParent(context);
  }
  static bool IsCancelled(const ClientContext& context) {
    return context.cancelled_.load() || (context.parent_ != nullptr && context.parent_->cancelled());
  }

 private:
  static bool BindAnew(ClientContext& context, const std::shared_ptr<CallCanceller>& canceller, uint64_t call_id);
  static void LeaveParent(ClientContext& context);
};

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_CLIENT_CALL_BINDING_H_
