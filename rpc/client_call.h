// One call at the client: what the user gave, the request as the transport's payload source, the way of its streams.
//
// Recycled: a connection has one for each call of its session, from the lane's pool. The transport may hold it as a
// source beyond the call's completion; the user's memory is not touched then.
//
// Owner: the pool (client_call_pool.h), lent to a ClientConnection. Thread: its loop's.

#ifndef VERBENA_RPC_CLIENT_CALL_H_
#define VERBENA_RPC_CLIENT_CALL_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "rpc/message_stream.h"
#include "rpc/protobuf_bytes.h"
#include "rpc/user_call.h"
#include "transport/connection.h"

namespace verbena::rpc {

class ClientConnection;
class ClientLink;

class ClientCall final : public transport::PayloadSource, public StreamWire {
 public:
  // `place` in its pool.
  explicit ClientCall(uint32_t place) : id_(place + uint64_t{1}) {}

  static uint32_t PlaceOf(uint64_t id) { return static_cast<uint32_t>(id) - 1; }

  // Becomes the session's call `call_id`. Returns its id in the pool, which is a new one.
  uint64_t Renew(uint64_t call_id) {
    call_id_ = call_id;
    return id_ += kOneUse;
  }
  void Begin(UserCall&& call) {
    user_ = std::move(call);
    if (user_.stream != nullptr) {
      user_.stream->set_initial_metadata(&ClientCallBinding::ResponseMetadataOf(*user_.context).initial);
    }
    link_ = nullptr;
    held_response_.clear();
  }
  // Hands the user's part over; what is left is a source of nothing. Of a call that ends at once it may stay where it
  // is, until the next Begin.
  UserCall Take() { return std::move(TakeInPlace()); }
  UserCall& TakeInPlace() {
    measured_ = nullptr;
    return user_;
  }

  const UserCall& user() const { return user_; }
  ClientConnection* connection() const { return connection_; }  // Null: it is in the pool.
  uint64_t id() const { return id_; }
  uint64_t call_id() const { return call_id_; }
  // See UserCall. Measured or not.
  void KeepRequest() {
    if (user_.request_copy == nullptr) return;
    user_.KeepRequest();
    if (measured_ != nullptr) Measure();  // Its parts' sizes stand in the message.
  }
  // Fixes size(). Before Send.
  void Measure() {
    body_bytes_ = user_.request == nullptr ? 0 : user_.request->ByteSizeLong();
    measured_ = user_.request;
  }

  size_t size() const override { return body_bytes_; }
  // After completion the transport no longer sends what it asks for here.
  void WriteTo(std::byte* to) override {
    if (measured_ != nullptr) {
      WriteMeasured(*measured_, to);
    } else {
      std::memset(to, 0, body_bytes_);
    }
  }

  // Where the request went.
  ClientLink* link() const { return link_; }  // Null: nowhere yet.
  uint64_t send_id() const { return send_id_; }
  void OnSend(ClientLink* link, uint64_t send_id) {
    link_ = link;
    send_id_ = send_id;
    if (user_.stream != nullptr) user_.stream->Attach(this);
  }
  // The link is gone: what is done to the stream from here on stays here.
  void OnLinkGone() {
    link_ = nullptr;
    if (user_.stream != nullptr) user_.stream->Attach(nullptr);
  }

  // The header of a response that waits for messages of the server's stream; empty: none does.
  const std::string& held_response() const { return held_response_; }
  void HoldResponse(absl::Span<const std::byte> header) {
    held_response_.assign(reinterpret_cast<const char*>(header.data()), header.size());
  }

  uint64_t SendMessage(const StreamHeader& header, transport::PayloadSource* payload, absl::Cord attachment,
                       bool may_leave) override;
  void SendEnd(uint64_t count) override;
  void SendWindow(uint64_t limit) override;
  void CancelSend(uint64_t send_id) override;
  void Fail(const absl::Status& status) override;

 private:
  friend class ClientCallPool;

  static constexpr uint64_t kOneUse = uint64_t{1} << 32;

  uint64_t id_;  // In the high half how often it was used, in the low one its place and one.
  // The pool's.
  ClientConnection* connection_ = nullptr;
  ClientCall* next_free_ = nullptr;

  UserCall user_;
  const google::protobuf::MessageLite* measured_ = nullptr;
  size_t body_bytes_ = 0;
  ClientLink* link_ = nullptr;
  uint64_t call_id_ = 0;
  uint64_t send_id_ = 0;
  std::string held_response_;
};

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_CLIENT_CALL_H_
