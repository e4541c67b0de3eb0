// A call of the connection manager on a thread of its own, for the calls that wait for the peer: those of iWARP
// devices, as long as the connection is not made. The loop has others to serve.
//
// Until the call has returned nothing else may be called on the id, and neither it nor its queue pair be destroyed: the
// kernel keeps whoever tries waiting for as long. Events of the id may come before, though.
//
// Owner: the link that connects. Thread: its loop's.

#ifndef VERBENA_TRANSPORT_BLOCKING_CALL_H_
#define VERBENA_TRANSPORT_BLOCKING_CALL_H_

#include <memory>
#include <thread>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "transport/event_loop.h"

namespace verbena::transport {

class BlockingCall : public std::enable_shared_from_this<BlockingCall> {
 public:
  using Call = absl::AnyInvocable<absl::Status()>;
  using ReturnCallback = absl::AnyInvocable<void(const absl::Status&)>;

  // Runs `call` on a new thread. `on_return` runs on the loop with what it returned, unless this is destroyed before,
  // and may destroy this. ResourceExhausted: there is no thread to be had.
  static absl::StatusOr<std::shared_ptr<BlockingCall>> Start(EventLoop* loop, Call call, ReturnCallback on_return);
  BlockingCall(const BlockingCall&) = delete;
  BlockingCall& operator=(const BlockingCall&) = delete;
  ~BlockingCall();  // Waits until the call has returned.

 private:
  BlockingCall(EventLoop* loop, Call call, ReturnCallback on_return)
      : loop_(loop), call_(std::move(call)), on_return_(std::move(on_return)) {}
  void Run();  // On the thread.

  EventLoop* const loop_;
  Call call_;
  ReturnCallback on_return_;
  absl::Status outcome_;  // The thread's until the loop is told.
  std::thread thread_;
};

}  // namespace verbena::transport

#endif  // VERBENA_TRANSPORT_BLOCKING_CALL_H_
