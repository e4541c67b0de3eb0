// A server on one loop that the test drives, over a network in memory: what several servers beside each other are made
// of.
//
// Owner: the test; services, network and loop outlive it. Thread: the loop's.

#ifndef VERBENA_RPC_TESTING_LOOP_SERVER_H_
#define VERBENA_RPC_TESTING_LOOP_SERVER_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "rpc/method_registry.h"
#include "rpc/server_loop.h"
#include "rpc/testing/manual_loop.h"
#include "rpc/testing/memory_network.h"

namespace verbena::testing {

class LoopServer {
 public:
  LoopServer(const std::string& address, const std::vector<Service*>& services, MemoryNetwork* network,
             ManualLoop* loop)
      : methods_(*rpc::MethodRegistry::Create(services)),
        server_(std::make_unique<rpc::ServerLoop>(loop, methods_.get(), nullptr, rpc::ServerSessionOptions(),
                                                  rpc::StreamOptions(), 1000)),
        listener_(*network->Listen(
            address, {}, {loop},
            [this](std::unique_ptr<transport::Connection> connection) { server_->Accept(std::move(connection)); },
            {})) {}
  ~LoopServer() {
    listener_.reset();
    server_->Abort();
    server_->Shut();
  }
  void Drain() {
    listener_.reset();
    server_->Drain([] {});
  }

  rpc::ServerLoop& loop() { return *server_; }
  size_t connections() const { return server_->connections(); }

 private:
  const std::unique_ptr<rpc::MethodRegistry> methods_;
  const std::unique_ptr<rpc::ServerLoop> server_;
  std::unique_ptr<transport::Listener> listener_;
};

}  // namespace verbena::testing

#endif  // VERBENA_RPC_TESTING_LOOP_SERVER_H_
