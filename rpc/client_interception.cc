#include "rpc/client_interception.h"

#include <memory>
#include <utility>

#include "rpc/interceptor/interceptor_chain.h"

namespace verbena::rpc {
namespace {

// With what the call's end needs.
class InterceptedCall : public InterceptorChain<ClientContext> {
 public:
  InterceptedCall(Interceptors interceptors, const UserCall& call)
      : InterceptorChain(std::move(interceptors)), context_(call.context), reply_(call.reply) {}

  // What is done behind the chain. Null: the call is dropped, without an end.
  void set_done(CallDone done) { done_ = std::move(done); }
  void Finish(absl::Status status) {
    if (status.ok() && reply_ != nullptr) OnReceived(*reply_);
    End(*context_, status);
    std::exchange(done_, nullptr)(std::move(status));
  }

 private:
  ClientContext* const context_;
  const google::protobuf::MessageLite* const reply_;  // Null: the server streams.
  CallDone done_;
};

// The call's `done`. The chain may outlive it, as the observer of a stream that who waits for the call may keep.
class EndOfIntercepted {
 public:
  explicit EndOfIntercepted(std::shared_ptr<InterceptedCall> call) : call_(std::move(call)) {}
  EndOfIntercepted(EndOfIntercepted&&) noexcept = default;
  ~EndOfIntercepted() {
    if (call_ != nullptr) call_->set_done(nullptr);
  }

  void operator()(absl::Status status) { std::exchange(call_, nullptr)->Finish(std::move(status)); }

 private:
  std::shared_ptr<InterceptedCall> call_;
};

}  // namespace

absl::Status InterceptCall(const ClientInterceptors& makers, UserCall& call) {
  InterceptedCall::Interceptors interceptors;
  absl::Status made = InterceptedCall::Make(makers, {call.method, call.kind}, &interceptors);
  if (!made.ok() || interceptors.empty()) return made;
  auto intercepted = std::make_shared<InterceptedCall>(std::move(interceptors), call);
  if (absl::Status started = intercepted->Start(*call.context); !started.ok()) return started;
  if (call.request != nullptr) intercepted->OnSend(*call.request);
  if (call.stream != nullptr) call.stream->set_observer(intercepted);
  intercepted->set_done(std::move(call.done));
  call.done = EndOfIntercepted(std::move(intercepted));
  return absl::OkStatus();
}

}  // namespace verbena::rpc
