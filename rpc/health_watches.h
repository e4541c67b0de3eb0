// Whether servers that a channel is connected to say that they serve: client-side health checking, as gRPC does it
// (proposal A17). On each connection that is ready, one call of grpc.health.v1.Health/Watch asks for a service and
// stays; what the server says there is how healthy it is.
//
// Not known is who has not answered yet. A server without that method serves: it has nothing to say. A watch that ends
// for any other reason leaves its server NOT_SERVING and is made again after kRetryDelay.
//
// Owner: the lane. Thread: the loop's. `changed` runs there, when Of may have changed for another reason than
// OnConnectivity.

#ifndef VERBENA_RPC_HEALTH_WATCHES_H_
#define VERBENA_RPC_HEALTH_WATCHES_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "rpc/client_connection.h"
#include "transport/event_loop.h"
#include "transport/loop_handle.h"

namespace verbena::rpc {

class HealthWatches {
 public:
  enum class Health { kUnknown, kNotServing, kServing };  // What says more is greater.
  static constexpr absl::Duration kRetryDelay = absl::Seconds(1);

  // `service`: "package.Service"; empty: the server as a whole. `loop` outlives it.
  HealthWatches(std::string service, transport::EventLoop* loop, std::shared_ptr<transport::LoopHandle> handle,
                std::function<void(ClientConnection&)> changed);
  // Cancels every watch. Nothing runs any more.
  ~HealthWatches();
  HealthWatches(const HealthWatches&) = delete;
  HealthWatches& operator=(const HealthWatches&) = delete;

  // A connection became ready, or is not any more.
  void OnConnectivity(ClientConnection& connection);
  // Before the connection goes.
  void Forget(const ClientConnection& connection);
  // What those of one server's connections say that say most.
  Health Of(const std::vector<std::shared_ptr<ClientConnection>>& connections) const;

 private:
  class Attempt;
  struct Watch;

  void Begin(ClientConnection& connection);
  void OnSaid(ClientConnection& connection, bool serving);
  void OnEnd(ClientConnection& connection, const absl::Status& status);

  // Constant after construction.
  const std::string service_;
  transport::EventLoop& loop_;
  const std::shared_ptr<transport::LoopHandle> handle_;
  const std::function<void(ClientConnection&)> changed_;

  absl::flat_hash_map<const ClientConnection*, std::unique_ptr<Watch>> watches_;  // Of connections that are ready.
};

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_HEALTH_WATCHES_H_
