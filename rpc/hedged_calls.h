// Calls of one lane that are hedged (rpc/core/retry/hedge.h): makes their attempts, and ends each call with the one
// that counts.
//
// An attempt has a context, a reply and a share of a copy of the request, all its own: what belongs to the user is his
// again when his call ends, whatever other attempts still do. That costs a hedged call one copy of its request and one
// of its reply; attachments are shared.
//
// Owner: the lane, shared with attempts under way and contexts that may cancel; it makes nothing after EndAll. Thread:
// the loop's, but CancelCall any.

#ifndef VERBENA_RPC_HEDGED_CALLS_H_
#define VERBENA_RPC_HEDGED_CALLS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "google/protobuf/message_lite.h"
#include "rpc/adopted_context.h"
#include "rpc/cancel/call_canceller.h"
#include "rpc/core/call_table.h"
#include "rpc/core/deadline_queue.h"
#include "rpc/core/retry/hedge.h"
#include "rpc/user_call.h"
#include "transport/deadline_timer.h"
#include "transport/loop_handle.h"

namespace verbena::rpc {

class HedgedCalls : public CallCanceller, public std::enable_shared_from_this<HedgedCalls> {
 public:
  // At most `calls_max` at once. `make_attempt` makes one, whose `done` runs later. `loop` and `budget` stay until
  // EndAll.
  HedgedCalls(uint32_t calls_max, transport::EventLoop* loop, std::shared_ptr<transport::LoopHandle> handle,
              RetryBudget* budget, std::function<void(UserCall)> make_attempt);

  // A unary call; not while full(). `policy` outlives it.
  void Start(UserCall call, const HedgingPolicy* policy);
  bool full() const { return calls_.full(); }
  void EndAll(const absl::Status& why);

  void CancelCall(uint64_t id, absl::string_view reason) override;

 private:
  struct Attempt {
    AdoptedContext context;
    std::shared_ptr<const google::protobuf::MessageLite> request;
    std::unique_ptr<google::protobuf::MessageLite> reply;
  };
  struct Call {
    UserCall user;
    Hedge hedge;
    std::shared_ptr<const google::protobuf::MessageLite> request;
    std::vector<std::shared_ptr<Attempt>> under_way;
  };

  void MakeAttempts(uint64_t id);
  void MakeAttempt(uint64_t id, Call& call);
  void OnAttemptEnded(uint64_t id, const std::shared_ptr<Attempt>& attempt, absl::Status status);
  void End(uint64_t id, absl::Status status);
  void OnTime();

  transport::EventLoop& loop_;
  const std::shared_ptr<transport::LoopHandle> handle_;
  RetryBudget& budget_;
  const std::function<void(UserCall)> make_attempt_;
  CallTable<Call> calls_;
  DeadlineQueue due_;  // Their next attempts.
  transport::DeadlineTimer<HedgedCalls, &HedgedCalls::OnTime> timer_;
};

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_HEDGED_CALLS_H_
