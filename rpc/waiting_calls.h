// Calls that wait, for a server or to be made again, in the order of their coming. One that is cancelled ends here.
//
// Owner: the lane, shared with contexts that may cancel; it does nothing after Shutdown. Thread: the loop's, but
// CancelCall any.

#ifndef VERBENA_RPC_WAITING_CALLS_H_
#define VERBENA_RPC_WAITING_CALLS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "rpc/cancel/call_canceller.h"
#include "rpc/user_call.h"
#include "transport/loop_handle.h"

namespace verbena::rpc {

class WaitingCalls : public CallCanceller, public std::enable_shared_from_this<WaitingCalls> {
 public:
  explicit WaitingCalls(std::shared_ptr<transport::LoopHandle> loop) : loop_(std::move(loop)) {}

  // `call` waits until `until` at the longest; cancelled already, it ends in a task of the loop.
  void Add(UserCall call, absl::Time until);
  // All that wait now, the oldest first. `take` may Add again.
  void TakeEach(absl::FunctionRef<void(UserCall)> take);
  // The same of those whose wait is over.
  void TakeExpired(absl::Time now, absl::FunctionRef<void(UserCall)> take);
  void EndAll(const absl::Status& why);
  // What becomes of one that nobody could do: it was not sent.
  static void End(UserCall call, absl::Status status);

  // When TakeExpired may have something to do. InfiniteFuture: not before another Add.
  absl::Time NextDeadline() const { return next_deadline_; }
  bool empty() const { return calls_.empty(); }
  size_t size() const { return calls_.size(); }

  void CancelCall(uint64_t id, absl::string_view reason) override;

 private:
  struct Waiting {
    UserCall call;
    absl::Time until;
  };

  void EndCancelled(uint64_t id, absl::string_view reason);

  const std::shared_ptr<transport::LoopHandle> loop_;
  std::map<uint64_t, Waiting> calls_;  // By id, which rises.
  uint64_t last_id_ = 0;
  absl::Time next_deadline_ = absl::InfiniteFuture();  // At most the earliest.
};

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_WAITING_CALLS_H_
