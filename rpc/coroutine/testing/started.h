// A task that runs, and what it has come to.
//
// Owner: the test, which keeps it where it is.

#ifndef VERBENA_RPC_COROUTINE_TESTING_STARTED_H_
#define VERBENA_RPC_COROUTINE_TESTING_STARTED_H_

#include <optional>
#include <utility>

#include "rpc/coroutine/start_task.h"
#include "rpc/coroutine/task.h"

namespace verbena::testing {

template <typename T>
class Started {
 public:
  explicit Started(Task<T> task)
      : running_(StartTask(std::move(task), [this](TaskOutcome<T> outcome) { outcome_ = std::move(outcome); })) {}
  Started(const Started&) = delete;
  Started& operator=(const Started&) = delete;

  bool has_finished() const { return outcome_.has_value(); }
  const TaskOutcome<T>& outcome() const { return outcome_.value(); }  // Throws if it has not finished.
  void Cancel() { running_ = {}; }

 private:
  std::optional<TaskOutcome<T>> outcome_;
  RunningTask running_;
};

}  // namespace verbena::testing

#endif  // VERBENA_RPC_COROUTINE_TESTING_STARTED_H_
