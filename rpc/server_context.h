// What a handler knows about its call beyond the request, and what it may send beyond the reply.
//
// Owner: the runtime; lives until the handler has returned (blocking) or the responder has been called (callback).
// Thread: the handler's, one at a time; IsCancelled any.

#ifndef VERBENA_RPC_SERVER_CONTEXT_H_
#define VERBENA_RPC_SERVER_CONTEXT_H_

#include <atomic>
#include <string>

#include "absl/strings/cord.h"
#include "absl/time/time.h"

namespace verbena {

namespace rpc {
class ServerCall;
}  // namespace rpc

class ServerContext {
 public:
  ServerContext() = default;
  ServerContext(const ServerContext&) = delete;
  ServerContext& operator=(const ServerContext&) = delete;

  // When the client stops waiting, on the wall clock (absl::Now). InfiniteFuture: never.
  absl::Time deadline() const { return deadline_; }
  // True once nobody waits for the reply: the client cancelled, its deadline passed, it is gone, or the server shuts
  // down. The handler may return early; its reply is dropped either way.
  bool IsCancelled() const { return cancelled_.load(std::memory_order_acquire); }

  // What the client sent beside the request. The Cord may outlive the call; while it lives it holds landing memory of
  // the server's loop, up to TransportOptions::fetch_bytes_max in all. Past that large requests wait, and are refused
  // as RESOURCE_EXHAUSTED after memory_wait_timeout: to keep much for long, copy it.
  const absl::Cord& attachment() const { return request_attachment_; }
  // Bytes to send beside the reply, not copied where they stand in memory from AllocatePayload.
  void set_attachment(absl::Cord attachment) { response_attachment_ = std::move(attachment); }

  // For people: "soft://127.0.0.1:40112".
  const std::string& peer() const { return peer_; }

 private:
  friend class rpc::ServerCall;

  absl::Time deadline_ = absl::InfiniteFuture();
  absl::Cord request_attachment_;
  absl::Cord response_attachment_;
  std::string peer_;
  std::atomic<bool> cancelled_ = false;  // Written by the event loop.
};

}  // namespace verbena

#endif  // VERBENA_RPC_SERVER_CONTEXT_H_
