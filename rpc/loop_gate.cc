#include "rpc/loop_gate.h"

#include <utility>

#include "rpc/callback_scope.h"
#include "rpc/server_call.h"

namespace verbena::rpc {
void LoopGate::Return(std::unique_ptr<ServerCall> call) {
  LoopGate* gate = call->gate().get();
  if (CallbackScope::current() == gate) {
    gate->sink_->OnCallFinished(std::move(call));
    return;
  }
  const std::shared_ptr<LoopGate> kept = call->gate();  // The call may be the last to hold it.
  const std::lock_guard lock(kept->mu_);
  if (kept->loop_ == nullptr) return;
  kept->loop_->Post([call = std::move(call)]() mutable {
    LoopGate* gate = call->gate().get();
    if (gate->sink_ == nullptr) return;
    const CallbackScope scope(gate);
    gate->sink_->OnCallFinished(std::move(call));
  });
}

void LoopGate::Shut() {
  sink_ = nullptr;
  const std::lock_guard lock(mu_);
  loop_ = nullptr;
}

}  // namespace verbena::rpc
