// A client's handle to a server, or to several that do the same: connections, the loops they live on, and the calls in
// flight on them.
//
// A channel connects by itself, ahead of the first call or with it, and connects again after a failure: at once the
// first time, then with exponential back-off and jitter. A call made while there is no connection waits for one.
//
//   absl::StatusOr<std::shared_ptr<verbena::Channel>> channel = verbena::Channel::Create("127.0.0.1:7471");
//   if (!channel.ok()) …
//   demo::Greeter::Stub stub(*channel);
//
// Owner: the user, shared with the stubs. Destroying the last reference fails what is in flight with CANCELLED, on the
// loops' threads, and waits for it (unless that is done on a loop's own thread, which cannot wait for itself).
// Thread: any; with ChannelOptions::loop see there.

#ifndef VERBENA_RPC_CHANNEL_H_
#define VERBENA_RPC_CHANNEL_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "rpc/auth/authentication.h"
#include "rpc/connectivity.h"
#include "rpc/core/balancing/balancer.h"
#include "rpc/core/retry/hedge.h"
#include "rpc/core/retry/retry_policy.h"
#include "rpc/interceptor/interceptor.h"
#include "rpc/names/name_source.h"
#include "rpc/options.h"

namespace verbena {

namespace rpc {
class ChannelCore;
}  // namespace rpc

// Of ChannelOptions::balancing and names.
using rpc::BalancerOptions;
using rpc::NameSourceOptions;
using rpc::OutlierOptions;
using rpc::PolicyKind;

struct ChannelOptions {
  TransportOptions transport;  // Device, message limit, time limits of a connection.

  // Event loops of this channel, a thread each, and how they wait.
  int loops = 1;
  WaitPolicy wait = WaitPolicy::kAdaptive;
  // kAdaptive: the most that a loop polls before it sleeps. It learns from its last waits how much of it is worth
  // while: docs/performance/waiting.md.
  absl::Duration poll_duration = absl::Microseconds(50);
  int first_cpu = -1;  // Loop i is pinned to core first_cpu + i; -1: to none.

  // Instead of `loops`: a loop that the user drives, on one thread, the one that creates the channel. Blocking calls
  // from that thread drive the loop while they wait; everything else happens while the user is in loop->RunUntil. The
  // channel is destroyed on that thread, outside of RunUntil and before the loop; it runs the loop until what was in it
  // has run, whosever that is. Not owned.
  EventLoop* loop = nullptr;

  // Who this client is, and who the server must be; see rpc/auth/authentication.h. Then a server that does not
  // authenticate is refused. What fails for who somebody is, fails as UNAUTHENTICATED, at once, and is tried again
  // after seconds.
  std::shared_ptr<Authenticator> credentials;

  // To each server; 65,536 at most. Spread over the loops; calls are spread over the connections.
  int connections = 1;
  bool connect_ahead = true;  // False: connect with the first call, and again only when a call needs it.

  // How long a call waits for a connection before it fails as UNAVAILABLE, not sent. Zero: only for the attempt that is
  // under way. The call's own deadline counts as well.
  absl::Duration connect_timeout = absl::Seconds(3);
  // For calls whose context sets none. Infinite: such calls have no deadline.
  absl::Duration default_timeout = absl::InfiniteDuration();
  // A connection without a call for this long is closed; the next call connects again, and waits for it. Infinite:
  // never.
  absl::Duration idle_timeout = absl::InfiniteDuration();
  // Of several servers: which one has a call (pick first, in turn, the less busy of two, by
  // ClientContext::set_hash_key), which do not answer well enough for any, and where their names come from.
  rpc::BalancerOptions balancing;
  rpc::NameSourceOptions names;
  // Of several servers: each is asked, by grpc.health.v1.Health/Watch on each connection, how healthy this service of
  // it is ("package.Service"; empty: the server as a whole). Who says that he does not serve has no calls, who does not
  // have the method has. Not with pick_first. A connection on which a server is watched is never idle. Nothing: nobody
  // is asked.
  std::optional<std::string> health_check_service;
  // Which failed calls are made again: by method ("package.Service/Method"), else by service ("package.Service"), else
  // for all (""). A call that was made again ends with the status of its last attempt; all of them share its time.
  std::map<std::string, RetryPolicy, std::less<>> retries;
  // Which unary calls are made several times at once: by the same names. Such a call is not made again otherwise. Which
  // server has each attempt is the policy's choice, as for any call.
  std::map<std::string, HedgingPolicy, std::less<>> hedging;
  RetryBudgetOptions retry_budget;  // For each loop: of both.
  // See rpc/interceptor/interceptor.h.
  ClientInterceptors interceptors;
  // Calls past this fail at once as RESOURCE_EXHAUSTED, not sent. Per connection.
  uint32_t calls_in_flight_max = 16384;
  // What a stream of replies may have here unread, but for the last message, before its server must wait; from
  // 64 KiB to 1 TiB.
  uint64_t stream_window_bytes = uint64_t{256} << 10;
};

class Channel {
 public:
  // Checks the target and the options, in words and at once; does not wait for a connection. `target` is one server,
  // "rdma://host:port", "soft://host:port" or "host:port" (RDMA where a device is there, else soft); or several, of
  // which ChannelOptions::balancing chooses one for each call: "host:port,host:port", "dns:///name:port",
  // "file:///path" or "etcd://host:port/prefix" (rpc/names/name_source.h).
  // InvalidArgument: the target or an option makes no sense. Else: the loops could not be started.
  static absl::StatusOr<std::shared_ptr<Channel>> Create(absl::string_view target, const ChannelOptions& options = {});

  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  // Whether there is a connection, a moment ago.
  ConnectivityState connectivity() const;
  // How many of its connections there are, to all servers together, a moment ago. There are to be as many to each
  // server as ChannelOptions::connections says, or ChannelOptions::loops if that is more.
  size_t connections_ready() const;
  // Told of each change of that from here on, and of the present state at once: on an event loop's thread or that of
  // the caller, one change at a time and in order; it must not block, set another, or destroy the channel; what it
  // throws is a line in the log. It replaces the one before, which has returned when this returns; null removes it.
  void SetConnectivityCallback(absl::AnyInvocable<void(ConnectivityState)> callback);
  // Connects if nothing does so already: a channel that does not connect ahead, or was idle.
  void Connect();
  // Connects, and blocks until there is a connection. False: `timeout` passed first. Not on an event loop's thread;
  // with ChannelOptions::loop the thread that drives it does so meanwhile: false, too, if the loop was stopped, and at
  // once within its call-backs.
  bool WaitUntilReady(absl::Duration timeout);

  // For people: address, each connection's state with the peer (the device and path in use) or the last connect error,
  // calls in flight. Says what was true a moment ago.
  std::string DescribeState() const;

  // For the runtime.
  explicit Channel(std::unique_ptr<rpc::ChannelCore> core);
  rpc::ChannelCore& core() { return *core_; }

 private:
  std::unique_ptr<rpc::ChannelCore> core_;
};

}  // namespace verbena

#endif  // VERBENA_RPC_CHANNEL_H_
