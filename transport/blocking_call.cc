#include "transport/blocking_call.h"

#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"

namespace verbena::transport {

absl::StatusOr<std::shared_ptr<BlockingCall>> BlockingCall::Start(EventLoop* loop, Call call,
                                                                  ReturnCallback on_return) {
  std::shared_ptr<BlockingCall> made(new BlockingCall(loop, std::move(call), std::move(on_return)));
  try {
    made->thread_ = std::thread([call = made.get()] { call->Run(); });
  } catch (const std::system_error& error) {
    return absl::ResourceExhaustedError(absl::StrCat("no thread to connect on: ", error.what()));
  }
  return made;
}

BlockingCall::~BlockingCall() {
  if (thread_.joinable()) thread_.join();
}

void BlockingCall::Run() {
  outcome_ = call_();
  loop_->Post([weak = weak_from_this()] {
    if (const auto call = weak.lock(); call != nullptr) call->on_return_(call->outcome_);
  });
}

}  // namespace verbena::transport
