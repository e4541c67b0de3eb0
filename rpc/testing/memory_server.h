// A server of a few services and a channel to it, with threads of their own, over a network in memory.
//
// Owner: the test; the services outlive it. Thread: one.

#ifndef VERBENA_RPC_TESTING_MEMORY_SERVER_H_
#define VERBENA_RPC_TESTING_MEMORY_SERVER_H_

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "rpc/channel.h"
#include "rpc/channel_core.h"
#include "rpc/server.h"
#include "rpc/server_core.h"
#include "rpc/testing/memory_network.h"
#include "transport/log.h"

namespace verbena::testing {

class MemoryServer {
 public:
  explicit MemoryServer(const std::vector<Service*>& services, const ChannelOptions& options = {}) {
    SetLogSink([](Severity, absl::string_view) {});
    server_ = std::make_unique<Server>(*rpc::ServerCore::Start(&network_, {}, {std::string(kAddress)}, services));
    channel_ = std::make_shared<Channel>(*rpc::ChannelCore::Open(&network_, kAddress, options));
  }
  ~MemoryServer() {
    channel_.reset();
    server_.reset();
    SetLogSink(nullptr);
  }

  Server& server() { return *server_; }
  const std::shared_ptr<Channel>& channel() { return channel_; }
  void AwaitCallsInFlight(uint64_t count) {
    while (server_->counters().calls_in_flight != count) std::this_thread::yield();
  }

 private:
  static constexpr absl::string_view kAddress = "server:1";

  MemoryNetwork network_;
  std::unique_ptr<Server> server_;
  std::shared_ptr<Channel> channel_;
};

}  // namespace verbena::testing

#endif  // VERBENA_RPC_TESTING_MEMORY_SERVER_H_
