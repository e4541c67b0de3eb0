// The runtime's side of a ClientContext: what the user asked of the call, and the ends of TryCancel.
//
// Thread: the loop's, but for FollowHandler.

#ifndef VERBENA_RPC_CLIENT_CALL_BINDING_H_
#define VERBENA_RPC_CLIENT_CALL_BINDING_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/cord.h"
#include "absl/time/time.h"
#include "rpc/cancel/call_canceller.h"
#include "rpc/cancel/nested_calls.h"
#include "rpc/client_context.h"
#include "transport/event_loop.h"

namespace verbena::rpc {

class ClientCallBinding {
 public:
  // When a call is made, on the caller's thread: if that is within a handler, the call follows the handler's, unless
  // the context says otherwise.
  static void FollowHandler(ClientContext& context);

  // The call's time, as a timeout from now: what the context says, or else `default_timeout`; and no more than the call
  // has that this one follows. `loop` is the call's, and says what time it is.
  static absl::Duration TimeoutOf(const ClientContext& context, absl::Duration default_timeout,
                                  const transport::EventLoop& loop);
  static bool WaitsForReady(const ClientContext& context) { return context.wait_for_ready_; }
  static const std::optional<std::string>& HashKey(const ClientContext& context) { return context.hash_key_; }
  static const absl::Cord& RequestAttachment(const ClientContext& context) { return context.request_attachment_; }
  static void SetResponseAttachment(ClientContext& context, absl::Cord attachment) {
    context.response_attachment_ = std::move(attachment);
  }
  static const Metadata& RequestMetadata(const ClientContext& context) { return context.request_metadata_; }
  static ResponseMetadata& ResponseMetadataOf(ClientContext& context) { return context.response_metadata_; }

  // From here on TryCancel and the call that this one follows reach it. True: it is cancelled already.
  static bool Bind(ClientContext& context, const std::shared_ptr<CallCanceller>& canceller, uint64_t call_id);
  // The call is complete, bound or not; before its completion runs.
  static void Unbind(ClientContext& context) {
    if (context.parent_ != nullptr) LeaveParent(context);
  }
  static bool IsCancelled(const ClientContext& context) {
    return context.cancelled_.load() || (context.parent_ != nullptr && context.parent_->cancelled());
  }

 private:
  static void LeaveParent(ClientContext& context);
};

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_CLIENT_CALL_BINDING_H_
