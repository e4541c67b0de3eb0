// Stands in for a user's ClientContext in a call whose caller may be gone before it is complete: the caller's is read
// when the call is made and written when he learns of its end, and in between only reaches it by TryCancel.
//
// Owner: shared by the call, its caller and, for TryCancel, his context. Thread: the caller's, but CancelCall any.

#ifndef VERBENA_RPC_ADOPTED_CONTEXT_H_
#define VERBENA_RPC_ADOPTED_CONTEXT_H_

#include <cstdint>
#include <memory>

#include "absl/strings/string_view.h"
#include "rpc/cancel/call_canceller.h"
#include "rpc/client_context.h"

namespace verbena::rpc {

class AdoptedContext : public CallCanceller {
 public:
  // Takes what the user asked of the call. `self` is this, as it is kept. Once, before the call is made.
  static void Adopt(std::shared_ptr<AdoptedContext> self, ClientContext& user);
  // Takes what the user asked of the request alone: neither its time nor what it follows.
  void CopyRequest(const ClientContext& user);
  // Gives the user the initial metadata, which came ahead of the end. Not after Return.
  void ReturnInitialMetadata(ClientContext& user) const;
  // Gives the user what the call learned. Once, after it is complete.
  void Return(ClientContext& user);

  ClientContext* context() { return &context_; }
  void CancelCall(uint64_t, absl::string_view) override { context_.TryCancel(); }

 private:
  ClientContext context_;
};

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_ADOPTED_CONTEXT_H_
