// What the user of a connection holds: a handle that may be destroyed at any moment, whatever the connection is doing.

#ifndef VERBENA_TRANSPORT_CONNECTION_HANDLE_H_
#define VERBENA_TRANSPORT_CONNECTION_HANDLE_H_

#include <memory>
#include <string>
#include <utility>

#include "transport/connection.h"
#include "transport/rdma_connection.h"

namespace verbena::transport {

// Forwards to the driver; destroying it aborts the connection. Thread: its loop's.
class ConnectionHandle : public Connection {
 public:
  explicit ConnectionHandle(std::shared_ptr<RdmaConnection> connection) : connection_(std::move(connection)) {}
  ~ConnectionHandle() override { connection_->Detach(); }

  uint64_t Send(OutboundMessage&& message) override { return connection_->Send(std::move(message)); }
  void CancelSend(uint64_t send_id) override { connection_->CancelSend(send_id); }
  void CancelFetch(uint64_t call_id) override { connection_->CancelFetch(call_id); }
  void Drain() override { connection_->Drain(); }
  void Abort(absl::Status status) override { connection_->Abort(std::move(status)); }
  void set_handler(ConnectionHandler* handler) override { connection_->set_handler(handler); }
  size_t header_bytes_max() const override { return connection_->header_bytes_max(); }
  const std::string& peer() const override { return connection_->peer(); }
  EventLoop* loop() const override { return connection_->loop(); }
  const std::shared_ptr<const PeerIdentity>& peer_identity() const override { return connection_->peer_identity(); }

 private:
  const std::shared_ptr<RdmaConnection> connection_;
};

}  // namespace verbena::transport

#endif  // VERBENA_TRANSPORT_CONNECTION_HANDLE_H_
