#include "testing/virtual_time_server.h"

#include <list>
#include <utility>

#include "rpc/executor/cooperative_thread.h"
#include "rpc/testing/manual_loop.h"
#include "rpc/testing/memory_network.h"
#include "testing/memory_endpoints.h"

namespace verbena::testing {

// The loop goes first: what it drops unrun still finds the networks.
struct VirtualTimeServer::World {
  // Another network in `world`, and of it alone what keeps the rest.
  static std::shared_ptr<MemoryNetwork> AddNetwork(const std::shared_ptr<World>& world) {
    return {world, &world->networks.emplace_back(&world->loop)};
  }

  std::list<MemoryNetwork> networks;  // One for each server.
  ManualLoop loop;
};

// The test's thread while it waits for the server: drives the loop.
class VirtualTimeServer::Caller final : public rpc::CooperativeThread {
 public:
  explicit Caller(World& world) : loop_(world.loop), scope_(this) {}
  void YieldUntil(absl::FunctionRef<bool()> ready) override { loop_.DriveUntil(ready); }

 private:
  ManualLoop& loop_;
  const Scope scope_;
};

absl::StatusOr<std::unique_ptr<VirtualTimeServer>> VirtualTimeServer::Start(const std::vector<Service*>& services,
                                                                            const ServerOptions& options) {
  return StartIn(std::make_shared<World>(), services, options);
}

absl::StatusOr<std::unique_ptr<VirtualTimeServer>> VirtualTimeServer::StartBeside(VirtualTimeServer& other,
                                                                                  const std::vector<Service*>& services,
                                                                                  const ServerOptions& options) {
  return StartIn(other.world_, services, options);
}

absl::StatusOr<std::unique_ptr<VirtualTimeServer>> VirtualTimeServer::StartIn(std::shared_ptr<World> world,
                                                                              const std::vector<Service*>& services,
                                                                              const ServerOptions& options) {
  std::unique_ptr<VirtualTimeServer> server(new VirtualTimeServer(std::move(world)));
  const Caller caller(*server->world_);
  ServerOptions on_one_loop = options;
  on_one_loop.loops = 1;
  absl::StatusOr<std::unique_ptr<Server>> started = StartMemoryServer(*server->network_, services, on_one_loop);
  if (!started.ok()) return started.status();
  server->server_ = *std::move(started);
  return server;
}

VirtualTimeServer::VirtualTimeServer(std::shared_ptr<World> world)
    : world_(std::move(world)), network_(World::AddNetwork(world_)), faults_(network_) {}

VirtualTimeServer::~VirtualTimeServer() {
  const Caller caller(*world_);
  server_.reset();
}

absl::StatusOr<std::shared_ptr<Channel>> VirtualTimeServer::NewChannel(const ChannelOptions& options) {
  ChannelOptions on_this_loop = options;
  on_this_loop.loop = &world_->loop;
  return OpenMemoryChannel(network_, on_this_loop);
}

void VirtualTimeServer::RunUntilIdle() { world_->loop.RunUntilIdle(); }

void VirtualTimeServer::Advance(absl::Duration duration) { world_->loop.Advance(duration); }

EventLoop& VirtualTimeServer::loop() { return world_->loop; }

ServerCounters VirtualTimeServer::counters() {
  const Caller caller(*world_);
  return server_->counters();
}

void VirtualTimeServer::Shutdown(absl::Duration grace) {
  const Caller caller(*world_);
  server_->Shutdown(world_->loop.WallNow() + grace);
}

}  // namespace verbena::testing
