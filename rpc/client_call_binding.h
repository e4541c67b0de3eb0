// The runtime's side of a ClientContext: what the user asked of the call, and the ends of TryCancel.
//
// Thread: the loop's, but for Canceller.

#ifndef VERBENA_RPC_CLIENT_CALL_BINDING_H_
#define VERBENA_RPC_CLIENT_CALL_BINDING_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/strings/cord.h"
#include "absl/time/time.h"
#include "rpc/client_context.h"

namespace verbena::rpc {

// Where TryCancel turns to. Shared with contexts, so it may outlive the channel. Any thread.
class CallCanceller {
 public:
  virtual ~CallCanceller() = default;
  virtual void CancelCall(uint64_t call_id) = 0;
};

class ClientCallBinding {
 public:
  // What the context says of the call's time, as a timeout from now.
  static absl::Duration TimeoutOf(const ClientContext& context);
  static const absl::Cord& RequestAttachment(const ClientContext& context) { return context.request_attachment_; }
  static void SetResponseAttachment(ClientContext& context, absl::Cord attachment) {
    context.response_attachment_ = std::move(attachment);
  }
  static const Metadata& RequestMetadata(const ClientContext& context) { return context.request_metadata_; }
  static ResponseMetadata& ResponseMetadataOf(ClientContext& context) { return context.response_metadata_; }

  // From here on TryCancel reaches the call. True: it was asked for already.
  static bool Bind(ClientContext& context, const std::shared_ptr<CallCanceller>& canceller, uint64_t call_id);
  static bool IsCancelled(const ClientContext& context) { return context.cancelled_.load(); }
};

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_CLIENT_CALL_BINDING_H_
