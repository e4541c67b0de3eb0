#include "rpc/client_interception.h"

#include <memory>
#include <utility>

#include "rpc/interceptor/interceptor_chain.h"

namespace verbena::rpc {

absl::Status InterceptCall(const ClientInterceptors& makers, UserCall& call) {
  const auto made = InterceptorChain<ClientContext>::Make(makers, {call.method, call.kind});
  if (!made.ok()) return made.status();
  const std::shared_ptr<InterceptorChain<ClientContext>> chain = *made;
  if (chain == nullptr) return absl::OkStatus();
  if (absl::Status started = chain->Start(*call.context); !started.ok()) return started;
  if (call.request != nullptr) chain->OnSend(*call.request);
  if (call.stream != nullptr) call.stream->set_observer(chain);
  call.done = [chain, context = call.context, reply = call.reply,
               done = std::move(call.done)](absl::Status status) mutable {
    if (status.ok() && reply != nullptr) chain->OnReceived(*reply);
    chain->End(*context, status);
    done(std::move(status));
  };
  return absl::OkStatus();
}

}  // namespace verbena::rpc
