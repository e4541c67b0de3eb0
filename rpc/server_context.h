// What a handler knows about its call beyond the request, and what it may send beyond the reply.
//
// Owner: the runtime; lives until the handler has finished: has returned (blocking) or the responder has been called
// (callback). Thread: the handler's, one at a time; IsCancelled any.

#ifndef VERBENA_RPC_SERVER_CONTEXT_H_
#define VERBENA_RPC_SERVER_CONTEXT_H_

#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/strings/cord.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "rpc/attachment/attachment_reader.h"
#include "rpc/auth/authentication.h"
#include "rpc/cancel/cancel_signal.h"
#include "rpc/metadata.h"

namespace verbena {

class ClientContext;

namespace rpc {
class ArrivingAttachment;
class MessageStream;
class ServerCall;

// Who calls.
struct CallPeer {
  std::string address;                           // For people.
  std::shared_ptr<const PeerIdentity> identity;  // Never null.

  static const std::shared_ptr<const CallPeer>& Nobody() {
    static const auto* const nobody =
        new std::shared_ptr<const CallPeer>(std::make_shared<CallPeer>(CallPeer{"", std::make_shared<PeerIdentity>()}));
    return *nobody;
  }
};
}  // namespace rpc

class ServerContext {
 public:
  ServerContext() = default;  // Of a call that nobody made: for tests of handlers.
  ServerContext(const ServerContext&) = delete;
  ServerContext& operator=(const ServerContext&) = delete;

  // When the client stops waiting, on the wall clock (absl::Now; see EventLoop::WallNow). InfiniteFuture: never.
  absl::Time deadline() const { return deadline_; }
  // True once nobody waits for the reply: the client cancelled, its deadline passed, it is gone, or the server shuts
  // down. The handler may return early; its reply is dropped either way.
  bool IsCancelled() const { return signal_.cancelled(); }
  // Runs `callback` once when that becomes true, on the event loop, where it must not block; if it is true already, at
  // once, on the calling thread. What it throws is a line in the log. It may finish the call (call the responder). It
  // replaces one that was set before and has not run; null removes that. When this returns the earlier one is not
  // running, unless it is what calls this.
  //
  // It does not run after the handler has finished: for that, to finish while it runs on another thread waits for it.
  // So do not finish, or call this, with a lock that the callback takes. What a blocking handler has on its stack is
  // gone before the runtime hears of its return: remove a callback that uses such things first.
  void SetCancelCallback(absl::AnyInvocable<void()> callback) { signal_.SetCallback(std::move(callback)); }

  // What the client sent beside the request. The Cord may outlive the call; while it lives it holds landing memory of
  // the server's loop, up to TransportOptions::fetch_bytes_max in all. Past that large requests wait, and are refused
  // as RESOURCE_EXHAUSTED after memory_wait_timeout: to keep much for long, copy it.
  //
  // Of a method that reads it in parts (Service::ReadAttachmentInParts): what of it had come when the handler began.
  const absl::Cord& attachment() const { return request_attachment_; }
  // The same, to be read from its beginning, as it comes. Readers of one call read one after the other.
  AttachmentReader attachment_reader();
  // Bytes to send beside the reply, not copied where they stand in registered memory (payload.h).
  void set_attachment(absl::Cord attachment) { response_attachment_ = std::move(attachment); }

  // What the client attached to its request.
  const Metadata& client_metadata() const { return client_metadata_; }
  // Metadata that travels with the response, whatever its status; metadata.h has the rules. For a unary call both lists
  // come with the one response. InvalidArgument: the entry breaks a rule, and is not added. More than fits the response
  // (metadata.h): the call ends as RESOURCE_EXHAUSTED, with both numbers and without any metadata. Less than that may
  // leave the status less room than it wants: then its message is cut, and details of it are left out and counted.
  //
  // Of a method that streams, the initial metadata leaves ahead of the first message that the handler writes, or with
  // SendInitialMetadata, and FailedPrecondition is the answer from then on.
  absl::Status AddInitialMetadata(absl::string_view key, absl::string_view value);
  // The client of a method that streams hears of it now, also if it is empty (ClientReader::WaitForInitialMetadata).
  // Nothing happens if the method is unary. What has no room in a header ends the call like any other metadata.
  void SendInitialMetadata();
  absl::Status AddTrailingMetadata(absl::string_view key, absl::string_view value) {
    return response_metadata_.trailing.Add(key, value);
  }

  // Who the server's authenticator found the caller to be; nobody (!authenticated()) without one.
  const PeerIdentity& peer_identity() const { return *peer_->identity; }

  // For people: "soft://127.0.0.1:40112".
  const std::string& peer() const { return peer_->address; }

 private:
  // What it is from here on.
  const Metadata& FixInitialMetadata();

  friend class ClientContext;  // Follows.
  friend class rpc::ServerCall;

  absl::Time deadline_ = absl::InfiniteFuture();
  absl::Cord request_attachment_;
  std::shared_ptr<rpc::ArrivingAttachment> arriving_;  // The same. Null: nobody reads it in parts.
  absl::Cord response_attachment_;
  Metadata client_metadata_;
  rpc::ResponseMetadata response_metadata_;
  std::shared_ptr<rpc::MessageStream> stream_;                 // Null: unary.
  std::mutex initial_mu_;                                      // The handler adds while the loop takes.
  bool initial_is_fixed_ = false;                              // Under that lock, as the list is until then.
  const rpc::CallPeer* peer_ = rpc::CallPeer::Nobody().get();  // The connection's, or kept when that is gone.
  mutable rpc::CancelSignal signal_;
};

}  // namespace verbena

#endif  // VERBENA_RPC_SERVER_CONTEXT_H_
