// The end of a call that a coroutine made: where the two meet, and what the call learned. Kept by the call as well as
// by whoever awaits it, so that either may go first.

#ifndef VERBENA_RPC_CO_CALL_END_H_
#define VERBENA_RPC_CO_CALL_END_H_

#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "rpc/adopted_context.h"
#include "rpc/coroutine/completion.h"
#include "rpc/unary_call.h"

namespace verbena::rpc {

struct CoCallEnd {
  AdoptedContext context;
  coroutine::Completion completion;
  absl::Status status;  // Of the complete call.
};

// The call's `done`.
inline CallDone TellEnd(std::shared_ptr<CoCallEnd> end) {
  return [end = std::move(end)](absl::Status status) mutable {
    end->status = std::move(status);
    coroutine::Completion::CompleteOf(std::move(end), &CoCallEnd::completion);
  };
}

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_CO_CALL_END_H_
