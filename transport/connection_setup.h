// A connection in the making, either side: its link, its share of the grants, the time that it may take, and the frames
// that came early. A Connector or an Acceptor derives from it and says what happens when.
//
// Owner: its loop (PendingSetups), until it succeeded, or failed and its link has come to its end. Thread: its loop's.

#ifndef VERBENA_TRANSPORT_CONNECTION_SETUP_H_
#define VERBENA_TRANSPORT_CONNECTION_SETUP_H_

#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "transport/cm_channel.h"
#include "transport/device_selection.h"
#include "transport/endpoint.h"
#include "transport/link.h"
#include "transport/poll_group.h"
#include "transport/protocol/handshake.h"
#include "transport/rdma_connection.h"
#include "transport/read_sizes.h"

namespace verbena::transport {

// What this end offers, from its options and its device.
protocol::HandshakeOptions MakeHandshakeOptions(const TransportOptions& options, const AuthenticationPolicy& policy,
                                                const ReadSizes& reads);

// The loop's poll group for the device that `id` belongs to. FailedPrecondition if the device option says another. On
// the loop's thread.
absl::StatusOr<std::shared_ptr<PollGroup>> GroupFor(EventLoop* loop, const verbs::ConnectionId& id,
                                                    const DeviceCandidate& candidate, const TransportOptions& options);

class ConnectionSetup : public LinkOwner, public CmHandler, public std::enable_shared_from_this<ConnectionSetup> {
 public:
  ConnectionSetup(EventLoop* loop, const DeviceCandidate& candidate, const TransportOptions& options,
                  const AuthenticationPolicy& policy)
      : loop_(loop), candidate_(candidate), options_(options), policy_(policy) {}
  ~ConnectionSetup() override;

  // --- From the connection manager: not heard any more when the set-up has ended.
  void OnCmEvent(verbs::CmEvent& event) final {
    if (pending_) OnEvent(event);
  }

  // --- From the link. Work requests do not exist before the connection is made.
  bool OnSendArrived(uint32_t receive, absl::Span<const std::byte> bytes) override;
  void OnSendsDone(uint32_t) override {}
  void OnReadDone(uint64_t) override {}
  void OnInvalidated() override {}
  void OnFailure(const absl::Status& status) override { Finish(status); }
  void OnTurnEnd() override {}
  void OnGrantsWakeup() override {}
  void OnMemoryStalled(const absl::Status&) override {}
  void OnEnded() override;

 protected:
  // The loop keeps this alive from here on, and fails it with DeadlineExceeded when handshake_timeout has passed; if
  // `channel`, the loop's, is behind then, when it has passed once more: what this waits for may have come.
  void Begin(const CmChannel* channel);
  // Sets group_, by the device of `id`.
  absl::Status FindGroup(const verbs::ConnectionId& id);
  // Then: makes everything that belongs to the device, queue pair, receives, initial grants. `id` is taken if link_ is
  // set afterwards.
  absl::Status MakeLink(CmChannel* channel, verbs::ConnectionId&& id);
  verbs::ConnectionParameters Parameters(absl::Span<const std::byte> private_data) const;
  ReadSizes read_sizes() const { return ChooseReadSizes(options_, group_->device().device()); }
  protocol::HandshakeOptions HandshakeOffer() const { return MakeHandshakeOptions(options_, policy_, read_sizes()); }
  // Ends the set-up: with the connection, once its peer is authenticated if that was chosen, or with the reason why
  // there is none. Calls Done, once, unless the loop has
  // gone meanwhile; the loop lets go of this when the link is somebody else's, or has ended: receives may have been
  // taken for it.
  void Succeed(const protocol::Agreement& agreement, bool initiator);
  void Finish(absl::StatusOr<std::unique_ptr<Connection>> outcome);
  bool pending() const { return pending_; }  // Neither of them was called, and the loop is there.

  virtual void OnEvent(verbs::CmEvent& event) = 0;
  virtual void Done(absl::StatusOr<std::unique_ptr<Connection>> outcome) = 0;
  // What it is waiting for, for the error when time is up: "an answer to the connect request".
  virtual absl::string_view Waiting() const = 0;

  EventLoop* const loop_;
  const DeviceCandidate candidate_;
  const TransportOptions options_;
  const AuthenticationPolicy policy_;
  std::shared_ptr<PollGroup> group_;
  std::unique_ptr<Link> link_;  // Set by MakeLink, like the next two.
  protocol::GrantShare share_;  // Of the link's receives; given back when the link has ended.
  bool reserved_ = false;       // Counted among connections_max.

 private:
  RdmaConnection::Parts TakeParts(const protocol::Agreement& agreement, bool initiator);
  std::string PeerName() const;  // For people.
  void LetGo();
  void OnTime(const CmChannel* channel);
  void GiveUp(absl::string_view waiting);  // For what.
  bool TakeMoreTime();                     // handshake_timeout from now on, once. False: it was taken.

  std::vector<EarlySend> early_sends_;
  absl::Time deadline_;
  TimerId timer_ = 0;
  bool pending_ = false;
  bool had_more_time_ = false;
};

}  // namespace verbena::transport

#endif  // VERBENA_TRANSPORT_CONNECTION_SETUP_H_
