// What a task's result is where no coroutine awaits it and nobody would catch what it throws: an absl::Status or an
// absl::StatusOr.
//
//   Task<void>, Task<absl::Status>        absl::Status
//   Task<absl::StatusOr<T>>, Task<T>      absl::StatusOr<T>
//
// An exception is INTERNAL: "the coroutine threw: …", as what a handler throws is.

#ifndef VERBENA_RPC_COROUTINE_TASK_OUTCOME_H_
#define VERBENA_RPC_COROUTINE_TASK_OUTCOME_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/run_catching.h"
#include "rpc/coroutine/task.h"

namespace verbena {

namespace coroutine {

template <typename T>
struct TaskOutcomeOf {
  using Type = absl::StatusOr<T>;
};
template <>
struct TaskOutcomeOf<void> {
  using Type = absl::Status;
};
template <>
struct TaskOutcomeOf<absl::Status> {
  using Type = absl::Status;
};
template <typename T>
struct TaskOutcomeOf<absl::StatusOr<T>> {
  using Type = absl::StatusOr<T>;
};

}  // namespace coroutine

template <typename T>
using TaskOutcome = typename coroutine::TaskOutcomeOf<T>::Type;

namespace coroutine {

// Of a task that has finished; its frame is destroyed.
template <typename T>
TaskOutcome<T> TakeOutcome(Task<T> finished) {
  return RunCatching("the coroutine", [&finished]() -> TaskOutcome<T> {
    if constexpr (std::is_void_v<T>) {
      std::move(finished).TakeValue();
      return absl::OkStatus();
    } else {
      return std::move(finished).TakeValue();
    }
  });
}

}  // namespace coroutine
}  // namespace verbena

#endif  // VERBENA_RPC_COROUTINE_TASK_OUTCOME_H_
