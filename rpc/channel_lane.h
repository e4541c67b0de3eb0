// One event loop's part of a channel: the servers that it knows, its connections to each, and which a call goes to.
//
// With one server a call goes to the next of its connections, and waits there while there is none. With several the
// balancer picks; a call for which there is none yet waits here, and one that a connection could not take, or that its
// server did not begin, goes to another server.
//
// Owner: the channel's core, shared with tasks of the loop. Thread: the loop's, but for what says otherwise.

#ifndef VERBENA_RPC_CHANNEL_LANE_H_
#define VERBENA_RPC_CHANNEL_LANE_H_

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "base/handover_queue.h"
#include "rpc/channel.h"
#include "rpc/client_connection.h"
#include "rpc/connectivity_board.h"
#include "rpc/core/balancing/balancer.h"
#include "rpc/core/split_mix.h"
#include "rpc/health_watches.h"
#include "rpc/hedged_calls.h"
#include "rpc/network.h"
#include "rpc/user_call.h"
#include "rpc/waiting_calls.h"
#include "transport/deadline_timer.h"
#include "transport/loop_handle.h"

namespace verbena::rpc {

class ChannelLane : public CallRouter,
                    public ClientConnection::Observer,
                    public std::enable_shared_from_this<ChannelLane> {
 public:
  struct Options {
    size_t connections = 1;  // To each server.
    uint64_t seed = 0;
    transport::AuthenticationPolicy authentication = {};
  };
  // Of one server. `network` and `loop` outlive it. Any thread.
  static std::shared_ptr<ChannelLane> WithServer(Network* network, const std::string& address,
                                                 const ChannelOptions& channel_options, transport::EventLoop* loop,
                                                 std::shared_ptr<ConnectivityBoard> board, const Options& options);
  // Of those that OnList names. `refresh` asks for a newer list; any thread may call it.
  static std::shared_ptr<ChannelLane> WithBalancer(Network* network, std::unique_ptr<Balancer> balancer,
                                                   std::function<void()> refresh, const ChannelOptions& channel_options,
                                                   transport::EventLoop* loop, std::shared_ptr<ConnectivityBoard> board,
                                                   const Options& options);
  ~ChannelLane() override;

  // Connects ahead if the options say so.
  void Open();
  // Connects in any case, as if there were a call: to each server that is wanted now or, until one of them is
  // connected, comes to be, for the first list brings it or others did not answer.
  void Connect();
  void OnList(const absl::StatusOr<std::vector<ServerAddress>>& list);
  // Its `done` runs here, later, exactly once: not in here.
  void Start(UserCall&& call);
  // Ends everything: calls as CANCELLED with `reason`. Not from within a call-back of a connection.
  void Shutdown(absl::string_view reason);

  bool OnAttemptEnded(UserCall& call, const absl::Status& status) override;
  std::shared_ptr<CallRouter> Share() override { return shared_from_this(); }
  void OnConnectivity(ClientConnection& connection, ConnectivityState before) override;
  void OnUnused(ClientConnection& connection) override;
  void OnLoad(ClientConnection& connection, double load) override;

  // Any thread.
  // Start, soon: in order of calling, and before what this thread posts to the loop from here on.
  void StartLater(UserCall&& call);
  transport::EventLoop& loop() { return loop_; }
  const std::shared_ptr<transport::LoopHandle>& handle() const { return handle_; }
  std::vector<std::string> DescribeConnections() const;

 private:
  // One server's connections.
  struct Server {
    std::string address;
    std::vector<std::shared_ptr<ClientConnection>> connections;
    size_t next = 0;  // Calls go round.
  };

  ChannelLane(Network* network, std::unique_ptr<Balancer> balancer, std::function<void()> refresh,
              const ChannelOptions& channel_options, transport::EventLoop* loop,
              std::shared_ptr<ConnectivityBoard> board, const Options& options);

  void AddServer(ServerId id, const std::string& address);
  void RemoveServer(ServerId id);
  static ClientConnection& NextConnection(Server& server);
  PickResult PickFor(const UserCall& call);
  bool Route(UserCall&& call);  // False: it waits.
  void Park(UserCall call);
  void RerouteWaiting();
  void EndLater(UserCall call, absl::Status status);
  inline void Attempt(UserCall&& call);
  void AttemptAtAny(UserCall&& call);  // Of several servers.
  bool GoElsewhere(UserCall& call, const absl::Status& status);
  bool Retry(UserCall& call, const absl::Status& status);
  // Whether one of its connections is in this state.
  static bool Has(const Server& server, ConnectivityState state);
  // Whether one that is wanted has a connection. There are several servers.
  bool HasWantedServer() const;
  void ConnectWanted();
  void ForgetConnect();
  void ReportServerOf(const ClientConnection& connection);
  void Report(ServerId id, const Server& server);
  void ReportReady(ServerId id, const Server& server);
  void Settle();
  void SetTimer();
  void OnTime();
  absl::Status WhyNoServer(const UserCall& call);

  // Constant after construction.
  Network& network_;
  const std::unique_ptr<Balancer> balancer_;  // Null: of one server.
  const std::function<void()> refresh_;
  const std::shared_ptr<const ChannelOptions> options_;  // Its connections have it, too.
  transport::EventLoop& loop_;
  const std::shared_ptr<transport::LoopHandle> handle_;
  const std::shared_ptr<ConnectivityBoard> board_;
  const Options lane_options_;
  const std::shared_ptr<ClientCallPool> calls_;   // Of its connections.
  const std::shared_ptr<WaitingCalls> waiting_;   // For a server.
  const std::shared_ptr<WaitingCalls> retrying_;  // For the time of their next attempt.
  const std::shared_ptr<HedgedCalls> hedged_;

  // Owned by the loop's thread.
  SplitMix64 random_;
  RetryBudget retry_budget_;
  std::unique_ptr<HealthWatches> health_;  // Null: servers are not asked how healthy they are.
  absl::flat_hash_map<ServerId, std::unique_ptr<Server>> servers_;
  Server* only_ = nullptr;  // Of one server: that. Null: of many.
  absl::flat_hash_map<const ClientConnection*, ServerId> server_of_;
  std::vector<std::shared_ptr<ClientConnection>> leaving_;  // Of servers that are gone, until their calls have ended.
  uint64_t version_ = 0;                                    // The balancer's, as acted upon.
  bool connects_ = false;                                   // Of several servers: Connect is to be repeated.
  bool reroute_ = false;                                    // Calls that wait may find a server now.
  bool rerouting_ = false;                                  // The task is posted that looks for them.
  bool settling_ = false;
  bool shut_down_ = false;
  transport::DeadlineTimer<ChannelLane, &ChannelLane::OnTime> timer_;

  // Any thread.
  HandoverQueue<UserCall> handed_over_;  // To be started, by tasks of the loop.
  mutable std::mutex mu_;
  std::vector<std::shared_ptr<const ClientConnection>> described_ ABSL_GUARDED_BY(mu_);
};

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_CHANNEL_LANE_H_
