// Where channels and servers get loops, listeners and connections from: the transport's factories, behind an interface
// so that rpc is tested without a device.
//
// Owner: static (the device network) or the test. Thread: any, but Connect, which is for the loop's own.

#ifndef VERBENA_RPC_NETWORK_H_
#define VERBENA_RPC_NETWORK_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "transport/endpoint.h"

namespace verbena::rpc {

// Each does what the transport's factory of that name does; see transport/endpoint.h.
class Network {
 public:
  virtual ~Network() = default;
  virtual absl::StatusOr<std::unique_ptr<transport::EventLoopGroup>> StartLoops(
      int count, const transport::EventLoopOptions& options) = 0;
  virtual absl::StatusOr<std::unique_ptr<transport::Listener>> Listen(
      absl::string_view address, const transport::TransportOptions& options, std::vector<transport::EventLoop*> loops,
      transport::Listener::AcceptCallback on_accept, const transport::AuthenticationPolicy& policy) = 0;
  virtual void Connect(absl::string_view address, const transport::TransportOptions& options,
                       transport::EventLoop* loop, transport::ConnectCallback done,
                       const transport::AuthenticationPolicy& policy) = 0;
};

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_NETWORK_H_
