#include "transport/blocking_connect.h"

#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"

namespace verbena::transport {

absl::StatusOr<std::shared_ptr<BlockingConnect>> BlockingConnect::Start(EventLoop* loop, verbs::ConnectionId* id,
                                                                        const verbs::ConnectionParameters& parameters,
                                                                        ReturnCallback on_return) {
  std::shared_ptr<BlockingConnect> made(new BlockingConnect(loop, id, parameters, std::move(on_return)));
  try {
    made->thread_ = std::thread([call = made.get()] { call->Run(); });
  } catch (const std::system_error& error) {
    return absl::ResourceExhaustedError(absl::StrCat("no thread to connect on: ", error.what()));
  }
  return made;
}

BlockingConnect::BlockingConnect(EventLoop* loop, verbs::ConnectionId* id,
                                 const verbs::ConnectionParameters& parameters, ReturnCallback on_return)
    : loop_(loop),
      id_(id),
      private_data_(parameters.private_data.begin(), parameters.private_data.end()),
      parameters_(parameters),
      on_return_(std::move(on_return)) {
  parameters_.private_data = private_data_;
}

BlockingConnect::~BlockingConnect() {
  if (thread_.joinable()) thread_.join();
}

void BlockingConnect::Run() {
  outcome_ = id_->Connect(parameters_);
  loop_->Post([weak = weak_from_this()] {
    if (const auto call = weak.lock(); call != nullptr) call->on_return_(call->outcome_);
  });
}

}  // namespace verbena::transport
