// The other end of a connection, by hand: a peer that may say anything.
//
// Owner: the test. Thread: its loop's.

#ifndef VERBENA_RPC_TESTING_RAW_PEER_H_
#define VERBENA_RPC_TESTING_RAW_PEER_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/cord.h"
#include "absl/strings/string_view.h"
#include "rpc/core/message_kind.h"
#include "transport/connection.h"

namespace verbena::testing {

class RawPeer : public transport::ConnectionHandler {
 public:
  struct Received {
    rpc::MessageKind kind;
    uint64_t call_id;
    std::string header;
  };

  explicit RawPeer(std::unique_ptr<transport::Connection> connection) : connection_(std::move(connection)) {
    connection_->set_handler(this);
  }

  void Send(rpc::MessageKind kind, uint64_t call_id, absl::string_view header, absl::string_view body = "") {
    transport::OutboundMessage message;
    message.kind = static_cast<uint8_t>(kind);
    message.call_id = call_id;
    message.header = absl::MakeConstSpan(reinterpret_cast<const std::byte*>(header.data()), header.size());
    message.attachment = absl::Cord(body);
    sends_.push_back(connection_->Send(std::move(message)));
  }
  // Withdraws what is still on its way.
  void CancelSends() {
    for (const uint64_t send_id : sends_) connection_->CancelSend(send_id);
  }

  transport::Verdict OnAnnounced(const transport::MessageHead&) override { return transport::Verdict::kFetch; }
  void OnMessage(const transport::MessageHead& head, transport::ReceivedPayload&) override {
    received.push_back({static_cast<rpc::MessageKind>(head.kind), head.call_id,
                        std::string(reinterpret_cast<const char*>(head.header.data()), head.header.size())});
  }
  void OnFetchFailed(const transport::MessageHead&, const absl::Status&) override {}
  void OnSent(const transport::SentMessage&, transport::SendOutcome) override {}
  void OnPeerDraining() override {}
  void OnClosed(const absl::Status&) override { closed = true; }

  std::vector<Received> received;
  bool closed = false;

 private:
  std::unique_ptr<transport::Connection> connection_;
  std::vector<uint64_t> sends_;
};

}  // namespace verbena::testing

#endif  // VERBENA_RPC_TESTING_RAW_PEER_H_
