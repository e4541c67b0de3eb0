// A server's part on one event loop: its connections, and the call objects that they recycle.
//
// Owner: the server's core. Thread: the loop's, for everything after construction.

#ifndef VERBENA_RPC_SERVER_LOOP_H_
#define VERBENA_RPC_SERVER_LOOP_H_

#include <algorithm>
#include <atomic>
#include <cmath>
#include <functional>
#include <memory>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "rpc/auth/call_guard.h"
#include "rpc/core/overload/load_average.h"
#include "rpc/core/server_session.h"
#include "rpc/executor/handler_queue.h"
#include "rpc/idle_calls.h"
#include "rpc/kept_messages.h"
#include "rpc/loop_gate.h"
#include "rpc/message_stream.h"
#include "rpc/method_registry.h"
#include "rpc/server_call.h"
#include "rpc/server_connection.h"
#include "transport/connection.h"
#include "transport/deadline_timer.h"
#include "transport/event_loop.h"
#include "transport/loop_handle.h"

namespace verbena::rpc {

class ServerLoop : public CallSink {
 public:
  // `handlers` may be null if no method blocks, `access` if everybody may call everything, `interceptors` if there are
  // none. None is owned; all outlive this.
  ServerLoop(transport::EventLoop* event_loop, const MethodRegistry* methods, HandlerQueue* handlers,
             const ServerSessionOptions& session_options, const StreamOptions& stream_options, uint32_t calls_max,
             AccessControl* access = nullptr, const ServerInterceptors* interceptors = nullptr);
  ~ServerLoop() override = default;

  void Accept(std::unique_ptr<transport::Connection> connection);
  // Every connection closes when its calls are answered; `done` runs when the last is gone.
  void Drain(std::function<void()> done);
  // Aborts every connection and cancels every call; a new connection is aborted as well. Handlers may still come back.
  void Abort();
  // The end, when no connection is open any more; first. If it takes long, a line of the log names the handlers that
  // hold it up.
  void StartEnd();
  // Then: `done` runs when the last coroutine has returned.
  void AwaitCoroutines(std::function<void()> done);
  // Last: whatever comes back from a handler dies.
  void Shut();

  // What the server says of its load. Any thread.
  void SetLoad(double load) {
    said_load_.store(std::isnan(load) ? 0 : std::clamp(load, 0.0, 1.0), std::memory_order_relaxed);
  }

  size_t connections() const { return open_connections_; }
  CallTally& tally() { return tally_; }

  // For this loop's connections.
  std::unique_ptr<ServerCall> TakeCall(uint32_t method, size_t request_bytes);
  void RecycleCall(std::unique_ptr<ServerCall> call);
  // Of a call with a large request, if it has them still.
  void KeepMessages(ServerCall& call);
  // Runs it, or lets it wait for a thread if its handler may block.
  void Run(std::unique_ptr<ServerCall> call, ClientId client);
  // OK if a call of this method would find a place to wait; else why not.
  absl::Status CheckPlace(uint32_t method, ClientId client) const;
  // How loaded the server is, as far as this loop knows: 0 to 1.
  double MeasureLoad(absl::Time now);
  void OnConnectionIdle(ServerConnection* connection);  // Closed, and no call of it is left: destroys it.
  void OnConnectionClosed() { --open_connections_; }
  void OnCallDiscarded(uint32_t method);  // It is back, and nobody is answered.
  void OnCallFinished(std::unique_ptr<ServerCall> call) override;
  transport::EventLoop& event_loop() { return event_loop_; }
  const LoopGate* gate() const { return gate_.get(); }
  const MethodRegistry& methods() const { return methods_; }
  const ServerInterceptors* interceptors() const { return interceptors_; }
  AccessControl* access() { return access_; }  // Null: there is no authorizer.
  const ServerSessionOptions& session_options() const { return session_options_; }
  // Where a connection makes a response's header, to be copied by its transport at once: kResponseHeaderRoomMax bytes.
  absl::Span<std::byte> header_room() { return absl::MakeSpan(header_room_); }
  std::shared_ptr<MessageStream> MakeStream() { return std::make_shared<MessageStream>(handle_, stream_options_); }

 private:
  std::unique_ptr<ServerCall> MakeCall(uint32_t method, size_t request_bytes);
  void RecycleLargeCall(std::unique_ptr<ServerCall> call);
  void GiveBackUnused();
  void TellConnections(void (ServerConnection::*what)());
  void VisitOpenCalls(absl::FunctionRef<void(uint32_t method)> visit) const;
  void ReportSlowEnd();
  // Of calls that wait for a thread, those that have waited too long.
  void RefuseOverdue();

  // Constant after construction.
  transport::EventLoop& event_loop_;
  const MethodRegistry& methods_;
  HandlerQueue* const handlers_;                  // Null: no method blocks.
  const ServerInterceptors* const interceptors_;  // Null: none.
  AccessControl* const access_;
  const ServerSessionOptions session_options_;
  const StreamOptions stream_options_;
  const std::shared_ptr<LoopGate> gate_;
  const std::shared_ptr<transport::LoopHandle> handle_;

  // Owned by the loop's thread.
  std::vector<std::byte> header_room_;
  CallTally tally_;
  LoadAverage load_;
  IdleCalls recycled_;
  IdleCalls stripped_;  // Their messages went their own way.
  KeptMessages kept_messages_;
  transport::DeadlineTimer<ServerLoop, &ServerLoop::GiveBackUnused> unused_timer_;
  absl::flat_hash_map<ServerConnection*, std::unique_ptr<ServerConnection>> connections_;
  size_t open_connections_ = 0;
  bool draining_ = false;
  bool aborted_ = false;
  transport::DeadlineTimer<ServerLoop, &ServerLoop::RefuseOverdue> overdue_timer_;
  std::function<void()> drained_;
  size_t coroutines_awaited_ = 0;
  std::function<void()> coroutines_returned_;
  transport::DeadlineTimer<ServerLoop, &ServerLoop::ReportSlowEnd> slow_end_timer_;

  std::atomic<double> said_load_ = 0;
};

// --- What every call passes.

inline std::unique_ptr<ServerCall> ServerLoop::TakeCall(uint32_t method, size_t request_bytes) {
  const bool is_small = request_bytes <= ServerCall::kSmallMessageBytesMax;
  return is_small && recycled_.Has(method) ? recycled_.Take(method) : MakeCall(method, request_bytes);
}

[[gnu::always_inline]] inline void ServerLoop::RecycleCall(std::unique_ptr<ServerCall> call) {
  if (!call->Recycle()) return RecycleLargeCall(std::move(call));
  recycled_.Keep(std::move(call));
}

[[gnu::always_inline]] inline void ServerLoop::Run(std::unique_ptr<ServerCall> call, ClientId client) {
  if (!IsBlocking(methods_.method(call->method_index()))) return ServerCall::Run(std::move(call));
  overdue_timer_.SetBy(handlers_->Submit(client, ServerCall::RunLater(std::move(call))));
}

inline absl::Status ServerConnection::Intercept(ServerCall& call) {
  if (loop_.interceptors() == nullptr) return absl::OkStatus();
  return call.Intercept(*loop_.interceptors(), loop_.methods().full_name(call.method_index()));
}

[[gnu::always_inline]] inline std::unique_ptr<ServerCall> ServerConnection::BeginCall(
    const ServerSession::Decision& decision) {
  std::unique_ptr<ServerCall> call = loop_.TakeCall(decision.method, decision.body_bytes);
  const absl::Time deadline = decision.timeout == absl::InfiniteDuration()
                                  ? absl::InfiniteFuture()
                                  : loop_.event_loop().WallNow() + decision.timeout;
  call->Begin(this, decision.local, peer_.get(), deadline);
  SlotOf(decision.local).running = call.get();
  call->ReadClientMetadata(decision.fields);
  return call;
}

[[gnu::always_inline]] inline void ServerConnection::RunCall(std::unique_ptr<ServerCall> call,
                                                             absl::Span<const std::byte> body) {
  if (call->kind() != MethodKind::kUnary) call->OpenStream(loop_.MakeStream());
  absl::Status status = call->Parse(body)
                            ? Intercept(*call)
                            : absl::InvalidArgumentError("the request's bytes are not the method's request message");
  if (status.ok()) return loop_.Run(std::move(call), client_);
  call->Refuse(std::move(status));
  OnCallFinished(std::move(call));
}

inline void ServerConnection::OnCallFinished(std::unique_ptr<ServerCall> call) {
  Slot& slot = SlotOf(call->local());
  slot.running = nullptr;
  if (call->arriving() != nullptr) StopParts(*call);
  if (call->was_refused()) ++loop_.tally().refused;
  if (call->stream() == nullptr || FinishStream(*call)) {
    Answer(std::move(call));
  } else {
    slot.finishing = std::move(call);
  }
  Settle();
}

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_SERVER_LOOP_H_
