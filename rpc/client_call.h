// One call at the client: what the user gave, and the request as the transport's payload source.
//
// Recycled: a connection keeps one for each slot of its session. The transport may hold it as a source beyond the
// call's completion; the user's memory is not touched then.
//
// Owner: the ClientConnection. Thread: its loop's.

#ifndef VERBENA_RPC_CLIENT_CALL_H_
#define VERBENA_RPC_CLIENT_CALL_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "rpc/client_context.h"
#include "rpc/protobuf_bytes.h"
#include "rpc/unary_call.h"
#include "transport/connection.h"

namespace verbena::rpc {

class ClientLink;

// What BlockingUnaryCall and CallbackUnaryCall are given.
struct UnaryCall {
  absl::string_view method;
  ClientContext* context = nullptr;
  const google::protobuf::MessageLite* request = nullptr;
  google::protobuf::MessageLite* reply = nullptr;
  CallDone done;
};

class ClientCall : public transport::PayloadSource {
 public:
  void Begin(UnaryCall call) {
    user_ = std::move(call);
    link_ = nullptr;
  }
  // Hands the user's part over, to be completed; what is left is a source of nothing.
  UnaryCall Take() {
    measured_ = nullptr;
    return std::exchange(user_, UnaryCall());
  }

  const UnaryCall& user() const { return user_; }
  // Fixes size(). Before Send.
  void Measure() {
    body_bytes_ = user_.request->ByteSizeLong();
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
  }

 private:
  UnaryCall user_;
  const google::protobuf::MessageLite* measured_ = nullptr;
  size_t body_bytes_ = 0;
  ClientLink* link_ = nullptr;
  uint64_t send_id_ = 0;
};

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_CLIENT_CALL_H_
