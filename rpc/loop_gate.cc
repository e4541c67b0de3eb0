#include "rpc/loop_gate.h"

#include <utility>

#include "rpc/executor/callback_scope.h"
#include "rpc/server_call.h"

namespace verbena::rpc {

void LoopGate::ReturnByTask(std::unique_ptr<ServerCall> call) {
  const std::shared_ptr<LoopGate> kept = call->gate();  // The call may be the last to hold it.
  transport::LoopHandle::Task task = [call = std::move(call)]() mutable {
    LoopGate* gate = call->gate().get();
    if (gate->sink_ == nullptr) return;
    const CallbackScope scope(gate);
    gate->sink_->OnCallFinished(std::move(call));
  };
  kept->loop_.Post(task);
}

void LoopGate::Shut() {
  sink_ = nullptr;
  loop_.Detach();
}

}  // namespace verbena::rpc
