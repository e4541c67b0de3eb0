// What a machine wants done, in order. Its memory is kept, so the steady state allocates nothing.

#ifndef VERBENA_RPC_CORE_ACTION_QUEUE_H_
#define VERBENA_RPC_CORE_ACTION_QUEUE_H_

#include <cassert>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

namespace verbena::rpc {

template <typename Action>
class ActionQueue {
 public:
  void Push(Action action) { actions_.push_back(std::move(action)); }

  bool empty() const { return actions_.empty(); }
  // The oldest. Not empty.
  Action Take() {
    assert(!empty());
    Action action = std::move(actions_[next_++]);
    if (next_ == actions_.size()) {
      actions_.clear();
      next_ = 0;
    }
    return action;
  }
  std::optional<Action> Pop() { return empty() ? std::nullopt : std::optional(Take()); }

 private:
  std::vector<Action> actions_;  // Those before next_ have been taken.
  size_t next_ = 0;              // Below actions_.size(), unless that is 0.
};

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_CORE_ACTION_QUEUE_H_
