// A server for unit tests with a clock of its own: server, channels and handlers take turns on the test's thread, in
// one order of events, and time stands still until the test lets it pass. Deadlines, back-off, keepalive, timers and
// what coroutines sleep take no real time; ServerContext::deadline and ClientContext::set_deadline go by the same
// clock.
//
//   auto server = verbena::testing::VirtualTimeServer::Start({&service});
//   auto channel = (*server)->NewChannel();
//   demo::Greeter::Stub stub(**channel);
//   stub.async()->SayHello(&context, &request, &reply, [&](absl::Status status) { … });
//   (*server)->Advance(absl::Seconds(5));   // The call's deadline has passed, and all that follows from it.
//
// A blocking call, BlockOn and a blocking stream's operations let run what can run, and let as much time pass as that
// takes: up to the next timer, whenever nothing else is left to do. A call without a deadline that nobody answers
// hangs, as it does in production.
//
// Blocking handlers have threads that take turns with the test's: they run while the loop does, and wait only for
// Verbena (their streams, calls that they make). One that waits for anything else stops everything.
//
// Servers whose handlers call each other stand beside each other, on one loop with one clock, which each of them
// drives:
//
//   auto store = verbena::testing::VirtualTimeServer::StartBeside(**server, {&store_service});
//
// Two that were started apart have a loop each, which only the calls to itself drive: a handler of the one that waits
// for the other waits for ever.
//
// Owner: the test; the services outlive it. Channels are to be destroyed before; calls on one that is not end as
// UNAVAILABLE. Thread: the one that creates it; not within call-backs or handlers.

#ifndef VERBENA_TESTING_VIRTUAL_TIME_SERVER_H_
#define VERBENA_TESTING_VIRTUAL_TIME_SERVER_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "rpc/channel.h"
#include "rpc/options.h"
#include "rpc/server.h"
#include "testing/network_faults.h"

namespace verbena::testing {

class VirtualTimeServer {
 public:
  // As Server::Builder::Build, without an address. What the options say of devices, loops and waiting has no effect.
  static absl::StatusOr<std::unique_ptr<VirtualTimeServer>> Start(const std::vector<Service*>& services,
                                                                  const ServerOptions& options = {});
  // The same on the loop of `other`. Faults are each one's own; they end in any order.
  static absl::StatusOr<std::unique_ptr<VirtualTimeServer>> StartBeside(VirtualTimeServer& other,
                                                                        const std::vector<Service*>& services,
                                                                        const ServerOptions& options = {});
  // As ~Server.
  ~VirtualTimeServer();
  VirtualTimeServer(const VirtualTimeServer&) = delete;
  VirtualTimeServer& operator=(const VirtualTimeServer&) = delete;

  // As Channel::Create, without an address, on loop(): what the options say of loops has no effect. Unimplemented: they
  // have credentials; nobody is authenticated here.
  absl::StatusOr<std::shared_ptr<Channel>> NewChannel(const ChannelOptions& options = {});

  // Runs all that can run at this instant.
  void RunUntilIdle();
  // Lets time pass, which is not infinite: all that is due up to then runs, each at its own instant.
  void Advance(absl::Duration duration);

  // Of the server, of those beside it and of every channel: for coroutines, timers, and the time (Now, WallNow). The
  // wall clock begins at the real time. Lives as long as this.
  EventLoop& loop();

  // As of Server; `grace` passes on this clock.
  ServerCounters counters();
  void Shutdown(absl::Duration grace);

  NetworkFaults& faults() { return faults_; }

 private:
  struct World;
  class Caller;

  static absl::StatusOr<std::unique_ptr<VirtualTimeServer>> StartIn(std::shared_ptr<World> world,
                                                                    const std::vector<Service*>& services,
                                                                    const ServerOptions& options);
  explicit VirtualTimeServer(std::shared_ptr<World> world);

  const std::shared_ptr<World> world_;            // Shared with the channels and with servers beside this one.
  const std::shared_ptr<MemoryNetwork> network_;  // A part of the world.
  NetworkFaults faults_;
  std::unique_ptr<Server> server_;
};

}  // namespace verbena::testing

#endif  // VERBENA_TESTING_VIRTUAL_TIME_SERVER_H_
