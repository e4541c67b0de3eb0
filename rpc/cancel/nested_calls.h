// The calls in flight that follow one server's call: that its handler made, and that are cancelled with it.
//
// It holds ids and not the callers' memory: whoever ends first, nothing dangles.
//
// Owner: shared between the server's call, until its handler has finished, and the client contexts of the calls that
// follow it. Thread: any.

#ifndef VERBENA_RPC_CANCEL_NESTED_CALLS_H_
#define VERBENA_RPC_CANCEL_NESTED_CALLS_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "absl/time/time.h"
#include "rpc/cancel/call_canceller.h"

namespace verbena::rpc {

class NestedCalls {
 public:
  // `deadline` of the server's call, on the wall clock.
  explicit NestedCalls(absl::Time deadline) : deadline_(deadline) {}

  absl::Time deadline() const { return deadline_; }
  bool cancelled() const;

  // A call that follows is in flight from here on. False: what it follows is cancelled already.
  bool Add(const std::shared_ptr<CallCanceller>& canceller, uint64_t call_id);
  // It is complete.
  void Remove(const std::shared_ptr<CallCanceller>& canceller, uint64_t call_id);

  // The server's call is cancelled: so is all that follows it, now or later.
  void Cancel();
  // Its handler has finished: what follows it goes on by itself.
  void Release();

 private:
  enum class State {
    kFollowing,  // Ended by Cancel, Release.
    kCancelled,
    kReleased,
  };

  const absl::Time deadline_;

  mutable std::mutex mu_;
  State state_ ABSL_GUARDED_BY(mu_) = State::kFollowing;
  absl::flat_hash_set<std::pair<std::shared_ptr<CallCanceller>, uint64_t>> calls_ ABSL_GUARDED_BY(mu_);
};

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_CANCEL_NESTED_CALLS_H_
