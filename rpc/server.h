// A server daemon: services, the addresses they are reachable at, the event loops that serve connections and the
// executor that runs blocking handlers.
//
//   verbena::Server::Builder builder;
//   builder.AddListeningAddress("127.0.0.1:7471").RegisterService(&greeter);
//   absl::StatusOr<std::unique_ptr<verbena::Server>> server = builder.Build();
//   if (!server.ok()) …
//   (*server)->Wait();  // Until another thread, one that waits for SIGTERM perhaps, calls Shutdown.
//
// Owner: the user. Thread: any but one of the server's own (a handler's, a loop's); the destructor not at the same time
// as another call.

#ifndef VERBENA_RPC_SERVER_H_
#define VERBENA_RPC_SERVER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "rpc/auth/authentication.h"
#include "rpc/interceptor/interceptor.h"
#include "rpc/options.h"
#include "rpc/service.h"

namespace verbena {

namespace rpc {
class ServerCore;
}  // namespace rpc

struct ServerOptions {
  TransportOptions transport;  // Device, message limit, time limits of a connection.

  // Event loops, a thread each, and how they wait. Connections are spread over them.
  int loops = 1;
  WaitPolicy wait = WaitPolicy::kAdaptive;
  // kAdaptive: the most that a loop polls before it sleeps. It learns from its last waits how much of it is worth
  // while: docs/performance/waiting.md.
  absl::Duration poll_duration = absl::Microseconds(50);
  int first_cpu = -1;  // Loop i is pinned to core first_cpu + i; -1: to none.

  // Past each limit below, calls are answered RESOURCE_EXHAUSTED, not sent, and unfetched if they are large. Where
  // there is not enough for all, clients have equal shares of it, whatever each asks for: a client is an authenticated
  // identity, with all its connections, or else one connection. See docs/overload.md.

  // Threads for blocking handlers, started with the server if a service has such a handler, and how many calls may wait
  // for one of them.
  int executor_threads = 8;
  uint32_t executor_queue_max = 1024;
  // How long a call may wait for one of them. Infinite: until nobody waits for the call any more.
  absl::Duration executor_queue_time_max = absl::InfiniteDuration();
  // The same in a queue that has not been empty for executor_queue_time_max. As long as that or longer: no difference.
  absl::Duration executor_queue_time_target = absl::Milliseconds(5);

  uint32_t calls_in_flight_per_connection_max = 16384;
  uint32_t calls_in_flight_max = 65536;  // Of the whole server.
  // What a stream of requests may have here unread, but for the last message, before its client must wait; from
  // 64 KiB to 1 TiB.
  uint64_t stream_window_bytes = uint64_t{256} << 10;

  // See rpc/interceptor/interceptor.h.
  ServerInterceptors interceptors;
};

// Totals since the start unless said otherwise. Read without a common instant.
struct ServerCounters {
  uint64_t connections = 0;      // Now.
  uint64_t calls_in_flight = 0;  // Now: announced, waiting, running, or with a reply under way.
  uint64_t calls_accepted = 0;
  uint64_t calls_refused = 0;  // Answered with an error without running a handler.
  uint64_t calls_dropped = 0;  // Cancelled or expired before a handler ran.
  double load = 0;             // Now, as clients are told: see Server::SetLoad.
};

class Server {
 public:
  class Builder {
   public:
    // "rdma://host:port", "soft://host:port" or "host:port" (both, on one port number). Port 0: any free one. A host by
    // name: all its addresses that this machine has.
    Builder& AddListeningAddress(absl::string_view address);
    // `service` must outlive the server. Not owned.
    Builder& RegisterService(Service* service);
    Builder& SetOptions(const ServerOptions& options);
    // Serves only clients that `authenticator` accepts. Clients without credentials are rejected, and so are, in words,
    // those whose credentials are of another kind. Null, the default: everybody.
    Builder& SetAuthenticator(std::shared_ptr<Authenticator> authenticator);
    // Runs only calls that `authorizer` allows. Empty, the default: all. Each refusal is a line in the log, at a
    // bounded rate.
    Builder& SetAuthorizer(Authorizer authorizer);

    // Starts the server: it serves when this returns. InvalidArgument for options, services or addresses that make no
    // sense (two services of one name, no address); else what the transport says of an address, in words.
    absl::StatusOr<std::unique_ptr<Server>> Build();

   private:
    std::vector<std::string> addresses_;
    std::vector<Service*> services_;
    ServerOptions options_;
    std::shared_ptr<Authenticator> authenticator_;
    Authorizer authorizer_;
  };

  // Shuts down without waiting for handlers: their contexts become cancelled, their replies are dropped. Then blocks
  // until the blocking handlers that run and the coroutines have returned, so that none finds its service gone: one
  // that waits for more than calls, streams and attachments (a time, an event) should wait for the cancel beside it
  // (UntilCancelled). After a second of this a line of the log names them. Not on a thread that drives the loop of a
  // channel that they call over, since their cancels take that. Responders that a callback handler keeps may be called
  // later.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Where the server really listens, with port and device: "soft://127.0.0.1:7471".
  const std::vector<std::string>& addresses() const;

  // Blocks until Shutdown is done.
  void Wait();

  // Drains: tells the services (Service::OnServerDrain), takes no new connections, asks the clients to make no new
  // calls, lets those in flight finish and their replies leave, then closes the connections. What a client sent before
  // it could know is taken, too; a client that has not answered within a second is rejected from there on. At the
  // deadline (wall clock), drops what is left. Blocks until it is done. A second caller waits for the first.
  void Shutdown(absl::Time deadline);
  void Shutdown(absl::Duration grace) { Shutdown(absl::Now() + grace); }

  // What the server knows of its own load beyond its calls, a processor's for instance: 0 (nothing to do) to 1 (full);
  // what is outside is cut off. Responses tell clients the largest of this, the part of calls_in_flight_max that is
  // taken and the part of the executor's threads that is busy, both on the average of half a second. A channel of
  // several servers gives those with less load more calls (PolicyKind::kLeastOutstandingOfTwo). Any thread.
  void SetLoad(double load);

  ServerCounters counters() const;

  // For the runtime.
  explicit Server(std::unique_ptr<rpc::ServerCore> core);

 private:
  std::unique_ptr<rpc::ServerCore> core_;
};

}  // namespace verbena

#endif  // VERBENA_RPC_SERVER_H_
