// A server for unit tests, in the test's own process: calls reach it without a port, a device or a socket, and are
// otherwise the real thing, with the threads of a server and of a channel. Blocking calls and handlers, callbacks,
// coroutines, streams, metadata, attachments, deadlines and cancels are as in production; what time does is real
// (virtual_time_server.h has another clock).
//
//   GreeterService service;
//   auto server = verbena::testing::InProcessServer::Start({&service});
//   ASSERT_TRUE(server.ok()) << server.status();
//   auto channel = (*server)->NewChannel();
//   ASSERT_TRUE(channel.ok()) << channel.status();
//   demo::Greeter::Stub stub(*channel);
//
// Owner: the test; the services outlive it. Channels may live longer: then their calls end as UNAVAILABLE. Thread: any
// but a loop's or a handler's; the destructor not at the same time as another call.

#ifndef VERBENA_TESTING_IN_PROCESS_SERVER_H_
#define VERBENA_TESTING_IN_PROCESS_SERVER_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "rpc/channel.h"
#include "rpc/server.h"
#include "testing/network_faults.h"

namespace verbena::testing {

class InProcessServer {
 public:
  // As Server::Builder::Build, without an address. What the options say of devices has no effect.
  static absl::StatusOr<std::unique_ptr<InProcessServer>> Start(const std::vector<Service*>& services,
                                                                const ServerOptions& options = {});
  // As ~Server.
  ~InProcessServer();
  InProcessServer(const InProcessServer&) = delete;
  InProcessServer& operator=(const InProcessServer&) = delete;

  // As Channel::Create, without an address. Unimplemented: the options have credentials; nobody is authenticated here.
  absl::StatusOr<std::shared_ptr<Channel>> NewChannel(const ChannelOptions& options = {});

  Server& server() { return *server_; }  // Counters, Shutdown.
  NetworkFaults& faults() { return faults_; }

 private:
  explicit InProcessServer(std::shared_ptr<MemoryNetwork> network);

  const std::shared_ptr<MemoryNetwork> network_;
  NetworkFaults faults_;
  std::unique_ptr<Server> server_;
};

}  // namespace verbena::testing

#endif  // VERBENA_TESTING_IN_PROCESS_SERVER_H_
