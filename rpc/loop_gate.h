// The way of a finished call back to its event loop, from whichever thread it was finished on; shut when the server
// goes.
//
// Owner: shared between the server's loop and every call that is out with a handler: a responder that somebody keeps
// may outlive the server. Thread: as each method says.

#ifndef VERBENA_RPC_LOOP_GATE_H_
#define VERBENA_RPC_LOOP_GATE_H_

#include <memory>

#include "transport/event_loop.h"
#include "transport/loop_handle.h"

namespace verbena::rpc {

class ServerCall;

// Takes finished calls, on the loop's thread.
class CallSink {
 public:
  virtual ~CallSink() = default;
  virtual void OnCallFinished(std::unique_ptr<ServerCall> call) = 0;
};

class LoopGate {
 public:
  LoopGate(transport::EventLoop* loop, CallSink* sink) : sink_(sink), loop_(loop) {}

  // Hands `call` to its gate's sink: at once within a CallbackScope of the gate, else by a task of the loop. The call
  // dies if the gate is shut. Any thread.
  static inline void Return(std::unique_ptr<ServerCall> call);  // In server_call.h.
  // The same, by a task of the loop wherever it is called: for who is within what the sink does.
  static void ReturnByTask(std::unique_ptr<ServerCall> call);

  // Nothing reaches the sink any more. The loop's thread.
  void Shut();

 private:
  // Owned by the loop's thread. Null: shut.
  CallSink* sink_;

  transport::LoopHandle loop_;  // Any thread.
};

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_LOOP_GATE_H_
