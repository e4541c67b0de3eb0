// One reconnecting connection of a channel: performs what the client session and the reconnect machine want.
//
// Owner: the channel's core. Lives on, shut down, as long as its loop may run something of it. Thread: its loop's, but
// for what says otherwise.

#ifndef VERBENA_RPC_CLIENT_CONNECTION_H_
#define VERBENA_RPC_CLIENT_CONNECTION_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "rpc/channel.h"
#include "rpc/client_call.h"
#include "rpc/client_call_pool.h"
#include "rpc/client_link.h"
#include "rpc/connectivity.h"
#include "rpc/core/call_header.h"
#include "rpc/core/client_session.h"
#include "rpc/core/reconnect.h"
#include "rpc/network.h"
#include "transport/deadline_timer.h"
#include "transport/event_loop.h"

namespace verbena::rpc {

class ClientConnection {
 public:
  struct Options {
    bool waits_for_connection = true;  // False: a call that finds no connection fails at once, not sent.
    uint64_t seed = 0;                 // Of the back-off's jitter.
    transport::AuthenticationPolicy authentication = {};
  };
  // Told by the loop, within Settle, of each change of connectivity() and, of one that is not wanted, that no call is
  // in flight any more, perhaps more than once. Must not destroy the connection.
  class Observer {
   public:
    virtual ~Observer() = default;
    virtual void OnConnectivity(ClientConnection& connection, ConnectivityState before) = 0;
    virtual void OnUnused(ClientConnection& connection) = 0;
    virtual void OnLoad(ClientConnection& connection, double load) = 0;  // Its server's, 0 to 1.
  };

  // `network`, `loop`, whose calls are in `calls`, and `observer` outlive it.
  ClientConnection(Network* network, std::string address, std::shared_ptr<const ChannelOptions> channel_options,
                   transport::EventLoop* loop, std::shared_ptr<ClientCallPool> calls, Observer* observer,
                   const Options& options);
  ~ClientConnection();

  // Connects ahead if the options say so.
  void Open() { Settle(); }
  // Connects without a call, also where the options do not say so or it was idle too long.
  void Connect() {
    connects_ahead_ = true;
    Settle();
  }
  // From now on as the options say: Connect is no longer asked for. What is under way goes on.
  void ForgetConnect() { connects_ahead_ = connects_ahead_ && options_->connect_ahead; }
  // Starts a call; its `done` runs here, later, exactly once: not in here, so that who tries again in it lets others
  // run.
  void Start(UserCall&& call);
  // By its id in the session. One that is complete is none.
  void CancelCall(uint64_t call_id, absl::string_view reason);
  // Not wanted, it connects for calls only, and closes when they have ended. It is wanted at first.
  void SetWanted(bool wanted);
  ConnectivityState connectivity() const { return connectivity_; }
  // Why it is in TRANSIENT_FAILURE; OK before the first failure.
  const absl::Status& last_failure() const { return last_failure_; }
  // Ends everything: calls as CANCELLED with `reason`, connections by abort. Not from within a call-back of a
  // connection.
  void Shutdown(absl::string_view reason);

  // Any thread.
  const std::string& address() const { return address_; }
  std::string DescribeState() const;
  size_t calls_in_flight() const { return calls_in_flight_.load(std::memory_order_relaxed); }

  // For the links.
  ClientSession& session() { return session_; }
  void OnResponse(ClientSession::Epoch epoch, const transport::MessageHead& head, transport::ReceivedPayload& payload);
  void OnRequestSent(ClientSession::Epoch epoch, uint64_t call_id, RequestSendOutcome outcome);
  // Whether to fetch it.
  bool OnResponseAnnounced(ClientSession::Epoch epoch, const transport::MessageHead& head);
  bool OnStreamAnnounced(ClientSession::Epoch epoch, const transport::MessageHead& head);
  void OnStreamMessage(ClientSession::Epoch epoch, const transport::MessageHead& head,
                       transport::ReceivedPayload& payload);
  void OnStreamFetchFailed(ClientSession::Epoch epoch, uint64_t call_id, const absl::Status& status);
  void FailCallLater(uint64_t call_id, absl::Status status);
  void OnLinkDraining(ClientLink& link);
  void OnLinkClosed(ClientLink& link, const absl::Status& status);  // Destroys it.
  // What follows every event: the session's actions, the next connect, the timer. Within one, returns at once: the
  // outer one goes on.
  void Settle() {
    if (session_.has_actions() || StateDue()) return SettleNow();
    NoteCalls();
  }

 private:
  class Handle;

  // Whether there is something to be done about the connection or the timer. Not in the usual case, in which calls
  // begin and end on a connection.
  bool StateDue() const {
    return link_ == nullptr || connectivity_ != ConnectivityState::kReady || !wanted_ ||
           (session_.calls() == 0 && !watches_idleness_) || session_.NextDeadline() < timer_.due();
  }
  // How many there are now, and whether there are none, and since when.
  void NoteCalls() {
    calls_in_flight_.store(session_.calls(), std::memory_order_relaxed);
    const bool unused = session_.calls() == 0;
    if (unused == unused_) return;
    unused_ = unused;
    if (unused) unused_since_ = loop_.Now();
  }
  void SettleNow();
  void Perform(ClientSession::Action&& action);
  inline void SendRequest(uint64_t call_id, ClientCall& call);
  void GiveUpLater(uint64_t call_id, ClientCall& call, absl::Status why);
  inline absl::Status TrySendRequest(uint64_t call_id, ClientCall& call);
  inline absl::Status ReadResponse(const transport::MessageHead& head, transport::ReceivedPayload& payload,
                                   const UserCall& call);
  // Of any response: also of one that nobody awaits.
  void HearLoadOf(const transport::MessageHead& head);
  void HearLoad(absl::Span<const std::byte> fields);
  // Null: none of `calls_` is that one. The peer chooses the id.
  ClientCall* FindCall(uint64_t call_id) const {
    if (CallIndex(call_id) >= calls_.size()) return nullptr;
    ClientCall* const call = calls_[CallIndex(call_id)];
    return call != nullptr && call->call_id() == call_id ? call : nullptr;
  }
  bool HasDroppedStream(ClientSession::Epoch epoch, uint64_t call_id);
  bool HoldResponse(ClientSession::Epoch epoch, const transport::MessageHead& head);
  void ReleaseResponse(ClientSession::Epoch epoch, uint64_t call_id);
  std::shared_ptr<MessageStream> StreamOf(ClientSession::Epoch epoch, uint64_t call_id);
  void FailStream(uint64_t call_id, const absl::Status& why);
  void End(uint64_t call_id, UserCall&& call, ClientLink* link, absl::Status status, MessageStream::Unread unread);
  void CloseIfUnused();
  void CloseDrained();
  void ReportConnectivity();
  ConnectivityState ConnectivityNow() const;
  // Without a connection: not OK if the call may not wait for one, or the next attempt is not due yet, and it may not
  // wait for that or would in vain, since one side refuses the other for who it is.
  absl::Status CheckChance(absl::Time now, bool waits_for_ready) const;
  void ConnectIfDue();
  void OnLinkLost(absl::Status why);
  void OnConnectDone(absl::StatusOr<std::unique_ptr<transport::Connection>> connection);
  void SetTimer();
  void OnTime();
  void FailLater(UserCall call, absl::Status status);
  bool wants_connection() const { return (wanted_ && connects_ahead_) || session_.calls_waiting() > 0; }
  inline ClientCall& MakeCallOf(uint64_t call_id);
  void GrowCalls(size_t count);  // Not inlined with each call.
  void Publish(std::string state);

  // Constant after construction.
  Network& network_;
  const std::string address_;
  const std::shared_ptr<const ChannelOptions> options_;
  const transport::AuthenticationPolicy policy_;
  Observer& observer_;
  const std::shared_ptr<Handle> handle_;
  transport::EventLoop& loop_;
  const std::shared_ptr<ClientCallPool> pool_;
  const bool waits_for_connection_;

  // Owned by the loop's thread. What every call needs stands together.
  bool wanted_ = true;
  bool settling_ = false;
  bool shut_down_ = false;
  bool unused_ = true;  // It has no call.
  // The timer comes before a connection that has no call from now on has been idle too long.
  bool watches_idleness_ = false;
  ConnectivityState connectivity_ = ConnectivityState::kIdle;  // As reported.
  absl::Time unused_since_;                                    // When it last came to have none, or was connected.
  ClientLink* link_ = nullptr;                                 // The one that takes new calls. Null: none.
  // By the index of the call's id in the session. A unary one whose response ended it has been given back; others stay,
  // over, for the next of their index.
  std::vector<ClientCall*> calls_;
  // Of the request that was sent last: most are of the one before. Names are in static storage, so that one is known by
  // its place; its bytes are never read here, and where one is not, its server checks it all the same.
  absl::string_view last_method_;
  std::atomic<size_t> calls_in_flight_ = 0;  // Any thread reads it.
  ClientSession session_;
  transport::DeadlineTimer<ClientConnection, &ClientConnection::OnTime> timer_;
  Reconnect reconnect_;
  std::vector<std::unique_ptr<ClientLink>> links_;  // With those that drain.
  ClientSession::Epoch last_epoch_ = 0;
  bool connects_ahead_;          // Not when it has been idle.
  bool attempt_failed_ = false;  // Since it was connected or idle.
  absl::Status last_failure_;

  // Any thread.
  mutable std::mutex mu_;
  std::string state_ ABSL_GUARDED_BY(mu_) = "not connected";  // For people.
};

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_CLIENT_CONNECTION_H_
