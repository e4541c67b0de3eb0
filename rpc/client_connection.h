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
#include "rpc/client_call_binding.h"
#include "rpc/client_link.h"
#include "rpc/core/client_session.h"
#include "rpc/core/reconnect.h"
#include "rpc/network.h"
#include "transport/event_loop.h"

namespace verbena::rpc {

class ClientConnection {
 public:
  // `network` and `loop` outlive it. `seed` is for the back-off's jitter.
  ClientConnection(Network* network, std::string address, const ChannelOptions& options,
                   const transport::AuthenticationPolicy& policy, transport::EventLoop* loop, uint64_t seed);
  ~ClientConnection();

  // Connects ahead if the options say so.
  void Open() { Settle(); }
  // Starts a call; its `done` runs here, later, exactly once.
  void Start(UserCall call);
  // Ends everything: calls as CANCELLED with `reason`, connections by abort. Not from within a call-back of a
  // connection.
  void Shutdown(absl::string_view reason);

  // Any thread.
  transport::EventLoop& event_loop() { return loop_; }
  std::string DescribeState() const;
  size_t calls_in_flight() const { return calls_in_flight_.load(std::memory_order_relaxed); }

  // For the links.
  ClientSession& session() { return session_; }
  void OnResponse(ClientSession::Epoch epoch, const transport::MessageHead& head, transport::ReceivedPayload& payload);
  void OnRequestSent(ClientSession::Epoch epoch, uint64_t call_id, RequestSendOutcome outcome);
  bool OnStreamAnnounced(ClientSession::Epoch epoch, const transport::MessageHead& head);  // Whether to fetch it.
  void OnStreamMessage(ClientSession::Epoch epoch, const transport::MessageHead& head,
                       transport::ReceivedPayload& payload);
  void OnStreamFetchFailed(ClientSession::Epoch epoch, uint64_t call_id, const absl::Status& status);
  void FailCallLater(uint64_t call_id, absl::Status status);
  void OnLinkDraining(ClientLink& link);
  void OnLinkClosed(ClientLink& link, const absl::Status& status);  // Destroys it.
  // What follows every event: the session's actions, the next connect, the timer. Within one, returns at once: the
  // outer one goes on.
  void Settle();

 private:
  class Handle;

  void Perform(ClientSession::Action action);
  void SendRequest(uint64_t call_id);
  absl::Status TrySendRequest(uint64_t call_id, ClientCall& call);
  bool HoldResponse(ClientSession::Epoch epoch, const transport::MessageHead& head);
  void ReleaseResponse(ClientSession::Epoch epoch, uint64_t call_id);
  std::shared_ptr<MessageStream> StreamOf(ClientSession::Epoch epoch, uint64_t call_id);
  void FailStream(uint64_t call_id, const absl::Status& why);
  static void CloseStream(uint64_t call_id, const UserCall& call, ClientLink* link, MessageStream::Unread unread);
  // Whether the last attempt was refused for who somebody is, and the next is not due yet.
  bool refused(absl::Time now) const;
  void ConnectIfDue();
  void OnConnectDone(absl::StatusOr<std::unique_ptr<transport::Connection>> connection);
  void SetTimer();
  void FailLater(UserCall call, absl::Status status);
  bool wants_connection() const { return options_.connect_ahead || session_.calls_waiting() > 0; }
  ClientCall& CallOf(uint64_t call_id);
  void Publish(std::string state);

  // Constant after construction.
  Network& network_;
  const std::string address_;
  const ChannelOptions options_;
  const transport::AuthenticationPolicy policy_;
  transport::EventLoop& loop_;
  std::shared_ptr<Handle> handle_;
  std::shared_ptr<CallCanceller> canceller_;  // The same, for contexts.

  // Owned by the loop's thread.
  ClientSession session_;
  Reconnect reconnect_;
  std::vector<std::unique_ptr<ClientCall>> calls_;  // By the index of the call's id; made when first used.
  ClientLink* link_ = nullptr;                      // The one that takes new calls. Null: none.
  std::vector<std::unique_ptr<ClientLink>> links_;  // With those that drain.
  std::vector<std::byte> header_;                   // Room for one.
  ClientSession::Epoch last_epoch_ = 0;
  absl::Time timer_at_ = absl::InfiniteFuture();
  transport::TimerId timer_ = 0;
  bool settling_ = false;
  bool shut_down_ = false;

  // Any thread.
  std::atomic<size_t> calls_in_flight_ = 0;
  mutable std::mutex mu_;
  std::string state_ ABSL_GUARDED_BY(mu_) = "not connected";  // For people.
};

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_CLIENT_CONNECTION_H_
