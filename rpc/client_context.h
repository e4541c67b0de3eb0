// What a client says about one call beyond its request: how long it may take, metadata, bytes that bypass protobuf; and
// what it learns beyond the reply.
//
// Owner: the caller; lives until the call is complete. One call at a time; a context whose call is complete may be used
// again after Reset. Thread: one at a time, but TryCancel, which any thread may call while the context lives.

#ifndef VERBENA_RPC_CLIENT_CONTEXT_H_
#define VERBENA_RPC_CLIENT_CONTEXT_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/cord.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "rpc/metadata.h"

namespace verbena {

class ServerContext;

namespace rpc {
class AdoptedContext;
class CallCanceller;
class ClientCallBinding;
class NestedCalls;
}  // namespace rpc

class ClientContext {
 public:
  ClientContext();
  ~ClientContext();
  ClientContext(const ClientContext&) = delete;
  ClientContext& operator=(const ClientContext&) = delete;

  // How long the call may take, from the moment it is made. With set_deadline as well, what comes first counts.
  void set_timeout(absl::Duration timeout);
  // When the call must be complete, on the wall clock (absl::Now; EventLoop::WallNow is that, as old as the loop's
  // turn); turned into a timeout when the call is made.
  void set_deadline(absl::Time deadline);

  // True: the call waits for a connection as long as its own time lasts, and not ChannelOptions::connect_timeout.
  void set_wait_for_ready(bool wait) { wait_for_ready_ = wait; }
  // With consistent hashing: calls of the same key go to the same server, as long as it is there.
  void set_hash_key(absl::string_view key) { hash_key_.emplace(key); }

  // A call that a handler makes while it runs, from its own thread, follows the call that it handles: it has no more
  // time than that has left, and is cancelled with it. False: this one does not, such as one that cleans up.
  void set_propagate(bool propagate) { propagate_ = propagate; }
  // Says so in words, for a handler that goes on elsewhere (in completions, on threads of its own) and is not finished
  // yet: the next call of this context follows `parent`, whatever set_propagate says.
  //
  // A call may go on when the handler of the call that it follows has finished: from then on it is by itself, with the
  // deadline that it has. So is one that is made later with this context.
  void FollowServerContext(const ServerContext& parent);

  // Bytes that travel beside the request, not copied where they stand in registered memory (payload.h). The context
  // keeps them, for attempts to come, until Reset or its end.
  void set_attachment(absl::Cord attachment) { request_attachment_ = std::move(attachment); }
  // What the server sent beside the reply. Empty until the call is complete. While a copy of the Cord lives it holds
  // landing memory of the channel's loop: see ServerContext::attachment.
  const absl::Cord& attachment() const { return response_attachment_; }

  // Metadata that travels with the request; metadata.h has the rules. InvalidArgument: the entry breaks one, and is not
  // added. More than metadata.h's limits: the call fails as RESOURCE_EXHAUSTED, not sent, with both numbers.
  absl::Status AddMetadata(absl::string_view key, absl::string_view value) { return request_metadata_.Add(key, value); }
  // What the server attached to its response, whatever the call's status: empty until the call is complete, and if it
  // ended without one. The initial metadata of a call that streams may come ahead of that: it is there when
  // WaitForInitialMetadata has returned, or a message was read (in the coroutine form: the former).
  const Metadata& initial_metadata() const { return response_metadata_.initial; }
  const Metadata& trailing_metadata() const { return response_metadata_.trailing; }

  // Asks for the call to end as CANCELLED; what was not sent is not, and the server is told. A call that completes at
  // the same time may complete as it would have. Before the call is made: it fails at once.
  void TryCancel();

  // As newly made. Not while a call is in flight, nor at the same time as TryCancel.
  void Reset();

 private:
  friend class rpc::AdoptedContext;
  friend class rpc::ClientCallBinding;

  // Set by the user before the call.
  absl::Duration timeout_ = absl::InfiniteDuration();
  absl::Time deadline_ = absl::InfiniteFuture();
  bool propagate_ = true;
  bool wait_for_ready_ = false;
  std::optional<std::string> hash_key_;
  absl::Cord request_attachment_;
  Metadata request_metadata_;

  // What the call follows. Set by the user or when the call is made; null again when it is complete.
  std::shared_ptr<rpc::NestedCalls> parent_;

  // Set by the call.
  absl::Cord response_attachment_;
  rpc::ResponseMetadata response_metadata_;

  // Between TryCancel and the call's start, on whichever threads: each writes its own and then reads the other's.
  std::atomic<bool> cancelled_ = false;
  std::atomic<uint64_t> call_id_ = 0;  // 0 = not started.

  // Who has the call; written by its thread alone, which reads it without the lock. A call may go from one to the next
  // while another thread cancels it: with the lock call_id_ is its id there. Before it has started (call_id_ is 0)
  // nobody else reads it.
  std::mutex canceller_mu_;
  std::shared_ptr<rpc::CallCanceller> canceller_;
  bool adopted_ = false;  // That is an AdoptedContext, with all that its call needed.
};

}  // namespace verbena

#endif  // VERBENA_RPC_CLIENT_CONTEXT_H_
