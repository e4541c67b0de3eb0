#include "transport/blocking_call.h"

#include <utility>

#include "transport/start_thread.h"

namespace verbena::transport {

absl::StatusOr<std::shared_ptr<BlockingCall>> BlockingCall::Start(EventLoop* loop, Call call,
                                                                  ReturnCallback on_return) {
  std::shared_ptr<BlockingCall> made(new BlockingCall(loop, std::move(call), std::move(on_return)));
  absl::StatusOr<std::thread> thread = StartThread("connecting", [call = made.get()] { call->Run(); });
  if (!thread.ok()) return thread.status();
  made->thread_ = *std::move(thread);
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
