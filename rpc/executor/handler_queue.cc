#include "rpc/executor/handler_queue.h"

#include <optional>
#include <utility>

namespace verbena::rpc {
namespace {

// When a loop asks again that found another thread at the queue: what that one knows of the next deadline it keeps.
constexpr absl::Duration kAskAgain = absl::Milliseconds(1);

}  // namespace

HandlerQueue::HandlerQueue(StartExecutor start, int threads, const CallQueueOptions& options, Clock clock)
    : threads_(threads),
      calls_wait_for_ever_(options.time_max == absl::InfiniteDuration()),
      clock_(std::move(clock)),
      queue_(options),
      executor_(start(threads, [this] { return RunNext(); })) {}

absl::Time HandlerQueue::Submit(ClientId client, Task task) {
  arrivals_.Push({client, std::move(task)});
  return AttendUnlessBusy();
}

absl::Time HandlerQueue::AttendUnlessBusy() {
  absl::Time next_overdue;
  do {
    Errands errands;
    {
      const std::unique_lock lock(mu_, std::try_to_lock);
      if (!lock.owns_lock()) return calls_wait_for_ever_ ? absl::InfiniteFuture() : clock_() + kAskAgain;
      Attend(errands);
      errands.wakes_one = WakesOne();
      next_overdue = queue_.NextDeadline();
    }
    DoErrands(std::move(errands));
  } while (!arrivals_.IsStillEmpty());
  return next_overdue;
}

// Takes in what has been handed over, and takes out who has waited too long.
void HandlerQueue::Attend(Errands& errands) {
  const absl::Time now = clock_();
  arrivals_.TakeAll([&](Arrival arrival) {
    if (shut_down_) return errands.dropped.push_back(std::move(arrival.task));
    std::optional<CallQueue::Refusal> refusal = queue_.Push(arrival.client, std::move(arrival.task), now);
    if (refusal.has_value()) errands.refusals.push_back(*std::move(refusal));
  });
  while (std::optional<CallQueue::Refusal> refusal = queue_.PopOverdue(now)) {
    errands.refusals.push_back(*std::move(refusal));
  }
}

bool HandlerQueue::WakesOne() {
  if (queue_.size() == 0 || one_is_coming_ || awake_ == threads_) return false;
  ++awake_;
  return one_is_coming_ = true;
}

void HandlerQueue::DoErrands(Errands errands) {
  if (errands.wakes_one) executor_->Wake();
  for (CallQueue::Refusal& refusal : errands.refusals) refusal.task(std::move(refusal.status));
}

// Null: nothing waits, and the thread goes to sleep.
HandlerQueue::Task HandlerQueue::TakeNext() {
  Errands errands;
  Task next;
  {
    const std::lock_guard lock(mu_);
    one_is_coming_ = false;
    Attend(errands);
    next = queue_.Pop();
    if (next == nullptr) --awake_;
    errands.wakes_one = WakesOne();
  }
  DoErrands(std::move(errands));
  if (!arrivals_.IsStillEmpty()) AttendUnlessBusy();
  return next;
}

bool HandlerQueue::RunNext() {
  Task next = TakeNext();
  if (next == nullptr) return false;
  running_.fetch_add(1, std::memory_order_relaxed);
  next(absl::OkStatus());
  running_.fetch_sub(1, std::memory_order_relaxed);
  return true;
}

absl::Status HandlerQueue::CheckPlace(ClientId client) {
  absl::Status place;
  {
    const std::unique_lock lock(mu_, std::try_to_lock);
    if (!lock.owns_lock()) return absl::OkStatus();
    if (!queue_.HasPlaceFor(client)) place = queue_.NoPlace();
  }
  if (!arrivals_.IsStillEmpty()) AttendUnlessBusy();
  return place;
}

void HandlerQueue::Shutdown() {
  std::vector<Task> dropped;  // Destroyed without the lock: a task may hold anything.
  {
    const std::lock_guard lock(mu_);
    if (std::exchange(shut_down_, true)) return;
    dropped = queue_.Clear();
  }
  dropped.clear();
  AttendUnlessBusy();
  executor_->Shutdown();
}

}  // namespace verbena::rpc
