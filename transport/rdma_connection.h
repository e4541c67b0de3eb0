// One established connection: the driver of a ConnectionMachine. It performs the machine's actions on a link, and tells
// the machine and the handler what happened. What is to be sent, fetched or refused, and when, is the machine's to
// decide.
//
// The user holds a handle (Connection); the driver lives on until its queue pair has come to its end, holding itself,
// so that a handle may be destroyed at any moment. Thread: its loop's.

#ifndef VERBENA_TRANSPORT_RDMA_CONNECTION_H_
#define VERBENA_TRANSPORT_RDMA_CONNECTION_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "transport/authentication.h"
#include "transport/authentication_run.h"
#include "transport/batch_splitter.h"
#include "transport/connection.h"
#include "transport/deadline_timer.h"
#include "transport/fetch_window.h"
#include "transport/inbound.h"
#include "transport/link.h"
#include "transport/outbound.h"
#include "transport/poll_group.h"
#include "transport/protocol/connection_machine.h"
#include "transport/protocol/ring.h"
#include "transport/record_table.h"

namespace verbena::transport {

// A frame that arrived before the connection was established: the receive buffer that it lies in.
struct EarlySend {
  uint32_t receive;
  absl::Span<const std::byte> bytes;
};

class RdmaConnection : public LinkOwner,
                       private FetchWindow::Fetcher,
                       public std::enable_shared_from_this<RdmaConnection> {
 public:
  struct Parts {
    std::shared_ptr<PollGroup> group;
    std::unique_ptr<Link> link;
    protocol::ConnectionConfig config;
    protocol::GrantShare share;
    std::string peer;
    std::vector<EarlySend> early_sends;                 // Handled in the next turn, when the handler is set.
    std::unique_ptr<AuthenticationRun> authentication;  // Of Authenticate.
  };

  // Takes over an established link, which tells it everything from here on. The group's ReserveConnection was made; its
  // release is ours.
  static std::unique_ptr<Connection> Create(Parts parts);

  // The same, if the handshake chose authentication: the connection is its owner's, by `done`, when both sides have
  // accepted each other. Unauthenticated, with this side's reason or the peer's words, if one has not; else why the
  // connection ended.
  using AuthenticatedCallback = absl::AnyInvocable<void(absl::StatusOr<std::unique_ptr<Connection>>)>;
  static void Authenticate(Parts parts, AuthenticatedCallback done);

  explicit RdmaConnection(Parts parts);  // Use Create.
  ~RdmaConnection() override;

  // --- From the handle. See connection.h.
  uint64_t Send(OutboundMessage&& message);
  void CancelSend(uint64_t send_id);
  void CancelFetch(uint64_t call_id);
  void Drain();
  void Abort(absl::Status status);
  void Detach();  // The handle is being destroyed.
  void set_handler(ConnectionHandler* handler) { handler_ = handler; }
  size_t header_bytes_max() const { return machine_.header_bytes_max(); }
  const std::string& peer() const { return peer_; }
  EventLoop* loop() const { return group_.loop(); }
  const std::shared_ptr<const PeerIdentity>& peer_identity() const { return peer_identity_; }

  // --- From the link.
  void OnCmEvent(verbs::CmEvent& event) override;
  bool OnSendArrived(uint32_t receive, absl::Span<const std::byte> bytes) override;
  void OnSendsDone(uint32_t count) override;
  void OnReadDone(uint64_t fetch_id) override;
  void OnInvalidated() override;
  void OnFailure(const absl::Status& status) override;
  void OnTurnEnd() override;
  void OnGrantsWakeup() override;
  void OnMemoryStalled(const absl::Status& why) override;
  void OnEnded() override;

 private:
  // Posts a message that need not wait, if it is such: false if not.
  inline bool SendAtOnce(const protocol::SendHead& head, const OutboundMessage& message, uint64_t source_bytes);
  inline void JoinEagerFrame(const wire::FrameHeader& header, const EagerContent& content, bool reported);
  void PostEagerFrame(const wire::FrameHeader& header, const EagerContent& content, bool reported);
  inline void CountPayload(const EagerContent& content);
  void Perform();
  // Whether frames that need a send buffer have to wait.
  bool MessagesHeld() const { return link_->ending() || !link_->MayTakeSendBuffer(); }
  void QueueFrame(RegisteredPool::Buffer&& buffer, uint32_t length, uint32_t room = 0, bool reported = true) {
    link_->QueueFrame(std::move(buffer), length, room, reported);
    machine_.HoldMessages(MessagesHeld());
    AwaitIfWanted();
  }
  // What frames that join one of this length may take.
  uint32_t RoomBehind(uint32_t length) const { return length < packed_bytes_max_ ? packed_bytes_max_ - length : 0; }
  // After a frame was queued.
  void AwaitIfWanted() {
    if (machine_.awaits_sends()) link_->AwaitSends();
  }
  // Whether the machine, its deadline or the link has anything for the turn's end to do. What else is done there
  // (splitters, exports) is for who made it due.
  bool AnythingDue() const { return !machine_.settled() || link_->has_queued(); }
  inline void Deliver(const wire::FrameView& eager);
  void HandleEarlySends();
  void MarkDirty();
  void ArmTimer();
  void OnTimer();

  // One for each action, as protocol/actions.h describes it.
  void Do(const protocol::PostEager& action);
  void Do(const protocol::PostAnnounce& action);
  void Do(const protocol::PostControl& action);
  void Do(const protocol::PostAuthenticate& action);
  void Do(const protocol::AskAuthenticator& action);
  void Do(const protocol::Authenticated& action);
  void Do(const protocol::Export& action);
  void Do(const protocol::ReleaseExport& action) { EndExport(action.send_id); }
  void Do(const protocol::RevokeExport& action) { EndExport(action.send_id); }
  void Do(const protocol::Sent& action);
  void Do(const protocol::AskVerdict& action);
  void Do(const protocol::AllocateLanding& action);
  void Do(const protocol::PostRead& action);
  void Do(const protocol::Landed& action);
  void Do(const protocol::CheckIdentity& action);
  void Do(const protocol::Deliver& action);
  void Do(const protocol::FetchFailed& action);
  void Do(const protocol::ReleaseLanding& action);
  void Do(const protocol::PeerDraining& action);
  void Do(const protocol::Disconnect& action);
  void Do(const protocol::Closed& action);

  static std::shared_ptr<RdmaConnection> TakeOver(Parts parts);
  void OnAuthenticatorAnswer(absl::StatusOr<AuthenticationRun::Answer> answer);
  void ExportNow(uint64_t send_id, size_t segments_max);
  void TellWritten();
  uint64_t TurnBytes(const Inbound& fetch);
  void OnFetchTurn(uint64_t fetch_id) override;
  void AskForLanding(uint64_t fetch_id, Inbound& inbound);
  void LandNow(uint64_t fetch_id, MemoryBudget::Answer answer);
  absl::Status PrepareLanding(Inbound& inbound);
  void LeaveFetchWindow(Inbound& inbound);
  void ReturnLanding(Inbound& inbound);
  void FreeIfDone(uint64_t send_id, const Outbound& outbound);
  void EndExport(uint64_t send_id);
  void CancelExport(Outbound& outbound);  // If it waits for the budget.
  void BindExports();
  using LentExport = LendingPool<ExportedPayload>::Lent;
  struct TakenBack {
    LentExport exported;
    uint64_t bytes = 0;  // Charged to the budget.
    size_t windows = 0;  // Not invalidated yet.
  };
  // Takes an export away from the peer; its memory is free, and its bytes the budget's, when that is done.
  void TakeBack(LentExport exported, uint64_t bytes);
  void FinishTakingBack(TakenBack taken);

  // Constant after construction.
  const std::shared_ptr<PollGroup> keeps_group_;  // First, so that it goes last.
  PollGroup& group_;
  const std::unique_ptr<Link> link_;
  const uint64_t epoch_;
  const bool checksum_;
  const wire::Packing packing_;
  const uint32_t packed_bytes_max_;  // Of the frames that go in one SEND, if there are several. 0: none do.
  const std::string peer_;

  // Owned by the loop. What every message needs stands together.
  std::vector<EarlySend> early_sends_;
  ConnectionHandler* handler_ = nullptr;  // Null once the handle is gone.
  bool dirty_ = false;
  bool exports_due_ = false;           // unbound_ or written_ are not empty.
  bool announced_to_waiting_ = false;  // The last announcement came when the loop had waited.
  bool performing_ = false;
  bool answer_rings_ = false;  // The turn's last message is being delivered: the first OutboundMessage::ends_burst that
                               // is sent meanwhile leaves, with what is queued, before the rest of the turn's work.
  BatchSplitter splitter_{SendList::kCapacity};          // Has half of a turn's answers leave before the others.
  BatchSplitter landing_splitter_{SendList::kCapacity};  // The same, by messages that have landed.
  protocol::ConnectionMachine machine_;
  std::unique_ptr<AuthenticationRun> authentication_;  // Null when it is over.
  AuthenticatedCallback on_authenticated_;             // The same.
  absl::Status refusal_;                               // Why our authenticator refuses the peer.
  std::shared_ptr<const PeerIdentity> peer_identity_;
  RecordTable<Outbound> outbound_;
  protocol::Ring<uint64_t> unbound_;      // Sends whose export waits for room to bind its windows.
  protocol::Ring<uint64_t> written_;      // Sends that were exported and whose source was not told that it is written.
  protocol::Ring<TakenBack> taken_back_;  // In order of queueing; woken by OnInvalidated, or ended by OnEnded.
  RecordTable<Inbound> inbound_;
  std::vector<std::byte> spare_header_;  // Memory of the message that was delivered last, for the record of the next.
  absl::Status end_status_;              // Why the link ended, when the machine did not ask for it.
  DeadlineTimer<RdmaConnection, &RdmaConnection::OnTimer> timer_;
  std::shared_ptr<RdmaConnection> self_;  // Until the end.
  const uint32_t read_chunk_bytes_;
};

}  // namespace verbena::transport

#endif  // VERBENA_TRANSPORT_RDMA_CONNECTION_H_
