// What generated services do with the task that a coroutine handler returned: runs it on the event loop, where it was
// made, and answers with its status. The calls that it makes follow its own, wherever it goes on.

#ifndef VERBENA_RPC_CO_HANDLER_H_
#define VERBENA_RPC_CO_HANDLER_H_

#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "rpc/coroutine/start_task.h"
#include "rpc/coroutine/task.h"
#include "rpc/service.h"

namespace verbena::rpc {

inline void RunCoHandler(const ServerContext* context, Task<absl::Status> handler, Responder done) {
  coroutine::StartTaskFor(context, std::move(handler), std::move(done)).Detach();
}

// `streams` is what the handler reads and writes.
template <typename Streams>
void RunCoHandler(const ServerContext* context, Task<absl::Status> handler, std::unique_ptr<Streams> streams,
                  Responder done) {
  coroutine::StartTaskFor(
      context, std::move(handler),
      [streams = std::move(streams), done = std::move(done)](absl::Status status) mutable { done(std::move(status)); })
      .Detach();
}

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_CO_HANDLER_H_
