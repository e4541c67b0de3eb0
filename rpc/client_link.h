// One transport connection of a client connection, from its establishment to its end: one epoch of the session.
//
// Owner: the ClientConnection; destroying it aborts the transport's connection. Thread: the loop's.

#ifndef VERBENA_RPC_CLIENT_LINK_H_
#define VERBENA_RPC_CLIENT_LINK_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "rpc/core/client_session.h"
#include "rpc/core/message_kind.h"
#include "rpc/core/stream_header.h"
#include "rpc/stream_sending.h"
#include "transport/connection.h"

namespace verbena::rpc {

class ClientConnection;

class ClientLink : public transport::ConnectionHandler {
 public:
  ClientLink(ClientConnection* owner, ClientSession::Epoch epoch, std::unique_ptr<transport::Connection> connection);

  // Sends the request of a call. Returns the send's id, whose OnSent is reported to the session, or Connection::kLeft.
  uint64_t SendRequest(uint64_t call_id, transport::OutboundMessage&& message) {
    message.tag = call_id;
    const uint64_t send_id = connection_->Send(std::move(message));
    if (send_id != transport::Connection::kLeft) ++requests_;
    return send_id;
  }
  void SendCancel(uint64_t call_id) { SendControl(MessageKind::kCancel, call_id); }
  // Of a call's streams. The first tells `stream` what becomes of it, by OnSent, unless it has left (StreamWire).
  uint64_t SendStreamMessage(uint64_t call_id, const StreamHeader& header, transport::PayloadSource* payload,
                             absl::Cord attachment, bool may_leave, const std::shared_ptr<MessageStream>& stream);
  void SendOfStream(MessageKind kind, uint64_t call_id, const StreamHeader& header);
  void FailCallLater(uint64_t call_id, absl::Status status);
  void CancelSend(uint64_t send_id) { connection_->CancelSend(send_id); }
  void CancelFetch(uint64_t call_id) { connection_->CancelFetch(call_id); }
  // No call is in flight on it, and none is to come: closes it.
  void Close() {
    if (!std::exchange(aborted_, true)) connection_->Drain();
  }

  // The server asked for an end, and has its answer: no new call follows.
  bool drained() const { return drain_ == Drain::kAnswered; }

  ClientSession::Epoch epoch() const { return epoch_; }
  size_t header_bytes_max() const { return header_bytes_max_; }
  const std::string& peer() const { return connection_->peer(); }

  transport::Verdict OnAnnounced(const transport::MessageHead& head) override;
  void OnMessage(const transport::MessageHead& head, transport::ReceivedPayload& payload) override;
  void OnFetchFailed(const transport::MessageHead& head, const absl::Status& status) override;
  void OnSent(const transport::SentMessage& sent, transport::SendOutcome outcome) override;
  void OnPeerDraining() override;
  void OnClosed(const absl::Status& status) override;

 private:
  // Of the server's wish that this connection end.
  enum class Drain : uint8_t { kNone, kAsked, kAnswered };

  void SendControl(MessageKind kind, uint64_t call_id);
  void OnUnknownKind(uint8_t kind);
  void AnswerDrain();

  // Constant after construction.
  ClientConnection& owner_;
  const ClientSession::Epoch epoch_;
  const std::unique_ptr<transport::Connection> connection_;
  const size_t header_bytes_max_;

  bool aborted_ = false;
  Drain drain_ = Drain::kNone;
  size_t requests_ = 0;  // On their way out.
  StreamSends stream_sends_;
};

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_CLIENT_LINK_H_
