#include "rpc/client_interception.h"

#include <memory>
#include <utility>

#include "rpc/interceptor/interceptor_chain.h"

namespace verbena::rpc {
namespace {

// With what the call's end needs.
class InterceptedCall : public InterceptorChain<ClientContext> {
 public:
  explicit InterceptedCall(const UserCall& call) : context_(call.context), reply_(call.reply) {}

  // What is done behind the chain.
  void set_done(CallDone done) { done_ = std::move(done); }
  void Finish(absl::Status status) {
    if (status.ok() && reply_ != nullptr) OnReceived(*reply_);
    End(*context_, status);
    done_(std::move(status));
  }

 private:
  ClientContext* const context_;
  const google::protobuf::MessageLite* const reply_;  // Null: the server streams.
  CallDone done_;
};

}  // namespace

absl::Status InterceptCall(const ClientInterceptors& makers, UserCall& call) {
  auto intercepted = std::make_shared<InterceptedCall>(call);
  absl::Status gathered = intercepted->Gather(makers, {call.method, call.kind});
  if (!gathered.ok() || intercepted->empty()) return gathered;
  if (absl::Status started = intercepted->Start(*call.context); !started.ok()) return started;
  if (call.request != nullptr) intercepted->OnSend(*call.request);
  if (call.stream != nullptr) call.stream->set_observer(intercepted);
  intercepted->set_done(std::move(call.done));
  call.done = [intercepted = std::move(intercepted)](absl::Status status) { intercepted->Finish(std::move(status)); };
  return absl::OkStatus();
}

}  // namespace verbena::rpc
