// One client's connection at the server: carries messages between the transport and the server session, runs calls and
// sends their answers.
//
// Owner: the ServerLoop; it stays, closed, until the last handler of its calls is done. Thread: its loop's.

#ifndef VERBENA_RPC_SERVER_CONNECTION_H_
#define VERBENA_RPC_SERVER_CONNECTION_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "rpc/attachment/arriving_attachment.h"
#include "rpc/auth/authentication.h"
#include "rpc/auth/call_guard.h"
#include "rpc/core/message_kind.h"
#include "rpc/core/overload/client_id.h"
#include "rpc/core/overload/load_report.h"
#include "rpc/core/server_session.h"
#include "rpc/core/stream_header.h"
#include "rpc/message_stream.h"
#include "rpc/server_call.h"
#include "rpc/stream_sending.h"
#include "transport/connection.h"
#include "transport/deadline_timer.h"
#include "transport/event_loop.h"

namespace verbena::rpc {

class ServerLoop;

class ServerConnection : public transport::ConnectionHandler, public CallPlaces {
 public:
  ServerConnection(ServerLoop* loop, std::unique_ptr<transport::Connection> connection);
  // Aborts the connection. Calls that are out with handlers are cancelled and detached.
  ~ServerConnection() override;

  // A call of this connection is back from its handler. May destroy this.
  inline void OnCallFinished(std::unique_ptr<ServerCall> call);  // In server_loop.h.
  void KeepMessages(ServerCall& call);                           // It needs them no more.
  // Asks the client to make no new call, takes those that it makes before it can know, rejects what comes later all the
  // same, and closes the connection when those in flight have been answered. May destroy this.
  void StartDraining();
  // Closes at once, as if the peer had gone. May destroy this. Not from within a call-back of the connection.
  void Drop();

  bool closed() const { return connection_ == nullptr; }
  // Of each call that is out with its handler, or back while its stream has not finished.
  void VisitOpenCalls(absl::FunctionRef<void(uint32_t method)> visit) const;

  // Of the streams of a running call. The first tells `stream` what becomes of it, by OnSent, unless it has left
  // (StreamWire).
  // `initial` metadata fits a response's header of header_room() bytes.
  uint64_t SendStreamMessage(uint64_t local, const StreamHeader& header, const Metadata& initial,
                             transport::PayloadSource* payload, absl::Cord attachment, bool may_leave,
                             const std::shared_ptr<MessageStream>& stream);
  void SendOfStream(MessageKind kind, uint64_t local, const StreamHeader& header, const Metadata& initial = {});
  size_t header_room() const { return header_.size(); }
  void CancelSend(uint64_t send_id);
  // Ends a running call with `status`, in a task of the loop: its streams cannot go on.
  void FailStreamLater(uint64_t local, absl::Status status);
  // Answers a call whose stream has finished, in a task of the loop.
  void AnswerLater(uint64_t local);

  transport::Verdict OnAnnounced(const transport::MessageHead& head) override;
  void OnMessage(const transport::MessageHead& head, transport::ReceivedPayload& payload) override;
  void OnPart(const transport::MessageHead& head, transport::ReceivedPayload& landed) override;
  void OnFetchFailed(const transport::MessageHead& head, const absl::Status& status) override;
  void OnSent(const transport::SentMessage& sent, transport::SendOutcome outcome) override;
  void OnPeerDraining() override {}
  void OnClosed(const absl::Status& status) override;

  absl::Status CheckPlace(uint32_t method) override;

 private:
  // By the index of the session's local id.
  struct Slot {
    ServerCall* running = nullptr;           // Out with its handler.
    std::unique_ptr<ServerCall> finishing;   // Back; its stream has not finished (MessageStream::Finish).
    std::unique_ptr<ServerCall> responding;  // Its answer is under way.
    uint64_t send_id = 0;                    // Of the answer.

    ServerCall* open() const { return running != nullptr ? running : finishing.get(); }  // Its streams are.
  };

  // Of a request that is fetched in parts, until all of it is there or its fetch has failed.
  struct RequestInParts {
    uint64_t body_bytes = 0;                         // Of its message, which comes first.
    uint64_t given_bytes = 0;                        // Of the payload: in `attachment`, or its message's.
    bool wanted = true;                              // False: whatever comes is dropped.
    std::shared_ptr<ArrivingAttachment> attachment;  // Null: its call has not begun.
  };

  absl::Span<const std::byte> EncodeHeader(const StreamHeader& header, const Metadata& initial);
  std::shared_ptr<MessageStream> StreamOf(uint64_t call_id);   // Null: nobody waits for what belongs to it.
  bool OnStreamAnnounced(const transport::MessageHead& head);  // Whether to fetch it.
  void OnStreamMessage(const transport::MessageHead& head, transport::ReceivedPayload& payload);
  void FailStream(uint64_t call_id, const absl::Status& status);
  void CloseStream(ServerCall& call);   // Nobody waits for the call any more.
  bool FinishStream(ServerCall& call);  // There is one; its handler is done. False: AnswerLater follows.
  void Answer(std::unique_ptr<ServerCall> call);
  void Discard(std::unique_ptr<ServerCall> call);
  void CancelFetches(const ServerCall& call);
  // Whether to fetch it in parts.
  bool ExpectParts(const transport::MessageHead& head, const ServerSession::Decision& decision);
  void BeginInParts(const transport::MessageHead& head, transport::ReceivedPayload& landed, RequestInParts& request);
  // False: its call has not begun, and is the session's to end.
  bool FailParts(const transport::MessageHead& head, const absl::Status& status);
  void StopParts(const ServerCall& call);  // Those that have not come are wanted no more, if it is such a call.
  void TellCancelled(ServerCall& call);    // Running. May be its end.
  void RunInParts(const ServerSession::Decision& decision, uint64_t fetch_id, transport::ReceivedPayload& landed,
                  const std::shared_ptr<ArrivingAttachment>& attachment);
  inline void OnRequest(const transport::MessageHead& head, transport::ReceivedPayload& payload);
  inline absl::Status Intercept(ServerCall& call);
  inline void Run(const ServerSession::Decision& decision, transport::ReceivedPayload& payload);
  inline std::unique_ptr<ServerCall> BeginCall(const ServerSession::Decision& decision);
  inline void RunCall(std::unique_ptr<ServerCall> call, absl::Span<const std::byte> body);
  void Reject(uint64_t call_id, const absl::Status& status);
  inline void Respond(std::unique_ptr<ServerCall> call);
  bool RespondWithoutReply(uint64_t local);
  void OnResponseSent(uint64_t local, transport::SendOutcome outcome);
  // Nothing more is to come of the answer, or of sending it.
  inline void OnResponseLeft(uint64_t local, std::unique_ptr<ServerCall> call);
  // `local`: of the call that it ends; 0: of none, it is a rejection. Returns what Send does.
  inline uint64_t SendResponse(uint64_t local, uint64_t call_id, const absl::Status& status,
                               const ResponseMetadata& metadata, ServerCall* reply);
  uint64_t SendStatus(uint64_t local, uint64_t call_id, const absl::Status& status);  // And no reply.
  inline size_t AppendLoad(absl::Time now, absl::Span<std::byte> to);                 // If it is news.
  void Abort(absl::Status status);
  void AskForDrain();
  void OnDrainTime();
  void StopAccepting();

  // What follows every event: the session's actions, its timer, and the end of a drain or of this object. Within one (a
  // handler that is told of its cancel may finish its call), returns at once: the outer one goes on.
  void Settle() {
    if (SettlingDue()) SettleNow();
  }
  bool SettlingDue() const {
    return session_.has_actions() || session_.NextDeadline() < timer_.due() ||
           (session_.idle() && (draining_ || closed()));
  }
  void SettleNow();
  void Perform(const ServerSession::Action& action);
  void OnTime();
  [[gnu::always_inline]] Slot& SlotOf(uint64_t local) {
    const uint32_t index = CallIndex(local);
    if (index >= slots_.size()) GrowSlots(index + size_t{1});
    return slots_[index];
  }
  void GrowSlots(size_t count);  // Not inlined with each look-up.

  // Constant after construction.
  ServerLoop& loop_;
  const std::shared_ptr<const CallPeer> peer_;
  const absl::Span<std::byte> header_;  // Room for an answer's: the loop's, used by all its connections in turn.

  const std::shared_ptr<ServerConnection*> weak_self_;  // For tasks of the loop: points at null once this is gone.

  bool settling_ = false;
  bool draining_ = false;
  bool client_drained_ = false;  // No new call follows; or it had time enough to say so.
  bool sends_over_ = false;      // Drained or aborted: nothing may be sent any more.

  std::unique_ptr<transport::Connection> connection_;  // Null: closed.
  const ClientId client_;
  const std::unique_ptr<CallGuard> guard_;  // Null: everybody may call everything. Not asked once it is closed.
  std::vector<Slot> slots_;
  LoadReport load_report_;
  ServerSession session_;
  transport::DeadlineTimer<ServerConnection, &ServerConnection::OnTime> timer_;
  absl::flat_hash_map<uint64_t, RequestInParts> in_parts_;  // By MessageHead::fetch_id: call ids are the peer's.
  StreamSends stream_sends_;
  transport::DeadlineTimer<ServerConnection, &ServerConnection::OnDrainTime> drain_timer_;
};

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_SERVER_CONNECTION_H_
