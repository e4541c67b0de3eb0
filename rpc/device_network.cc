#include "rpc/device_network.h"

#include <utility>

namespace verbena::rpc {
namespace {

class TransportNetwork : public Network {
 public:
  absl::StatusOr<std::unique_ptr<transport::EventLoopGroup>> StartLoops(
      int count, const transport::EventLoopOptions& options) override {
    return transport::EventLoopGroup::Start(count, options);
  }
  absl::StatusOr<std::unique_ptr<transport::Listener>> Listen(absl::string_view address,
                                                              const transport::TransportOptions& options,
                                                              std::vector<transport::EventLoop*> loops,
                                                              transport::Listener::AcceptCallback on_accept,
                                                              const transport::AuthenticationPolicy& policy) override {
    return transport::Listener::Listen(address, options, std::move(loops), std::move(on_accept), policy);
  }
  void Connect(absl::string_view address, const transport::TransportOptions& options, transport::EventLoop* loop,
               transport::ConnectCallback done, const transport::AuthenticationPolicy& policy) override {
    transport::Connect(address, options, loop, std::move(done), policy);
  }
};

}  // namespace

Network* DeviceNetwork() {
  static TransportNetwork* const network = new TransportNetwork();
  return network;
}

}  // namespace verbena::rpc
