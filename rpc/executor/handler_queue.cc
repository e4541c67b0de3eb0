#include "rpc/executor/handler_queue.h"

#include <cassert>
#include <optional>
#include <utility>

namespace verbena::rpc {
namespace {

void Refuse(std::vector<CallQueue::Refusal>& refusals) {
  for (CallQueue::Refusal& refusal : refusals) refusal.task(std::move(refusal.status));
}

}  // namespace

HandlerQueue::HandlerQueue(std::unique_ptr<Executor> executor, int threads, const CallQueueOptions& options,
                           Clock clock)
    : threads_(threads), clock_(std::move(clock)), queue_(options), executor_(std::move(executor)) {
  assert(executor_->queue_max() >= options.waiting_max);
}

absl::Time HandlerQueue::Submit(ClientId client, Task task) {
  std::optional<CallQueue::Refusal> refusal;
  bool needs_ticket = false;
  absl::Time next_overdue;
  {
    const std::lock_guard lock(mu_);
    if (shut_down_) return absl::InfiniteFuture();
    refusal = queue_.Push(client, std::move(task), clock_());
    needs_ticket = tickets_ < queue_.size();
    if (needs_ticket) ++tickets_;
    next_overdue = queue_.NextDeadline();
  }
  if (needs_ticket) SubmitTicket();
  if (refusal.has_value()) refusal->task(std::move(refusal->status));
  return next_overdue;
}

// The executor has room: what it holds is counted in tickets_, of which there are no more than calls ever waited at
// once. A ticket that is lost would be a call that never runs; only Shutdown may refuse one, and that destroys the
// calls too.
void HandlerQueue::SubmitTicket() {
  [[maybe_unused]] const bool submitted = executor_->TrySubmit([this] { RunNext(); });
  assert(submitted || IsShutDown());
}

bool HandlerQueue::IsShutDown() const {
  const std::lock_guard lock(mu_);
  return shut_down_;
}

void HandlerQueue::RunNext() {
  std::vector<CallQueue::Refusal> overdue;
  Task next;
  {
    const std::lock_guard lock(mu_);
    --tickets_;
    PopOverdue(clock_(), overdue);
    next = queue_.Pop();
  }
  Refuse(overdue);
  if (next == nullptr) return;
  running_.fetch_add(1, std::memory_order_relaxed);
  next(absl::OkStatus());
  running_.fetch_sub(1, std::memory_order_relaxed);
}

absl::Time HandlerQueue::RefuseOverdue() {
  std::vector<CallQueue::Refusal> overdue;
  absl::Time next_overdue;
  {
    const std::lock_guard lock(mu_);
    PopOverdue(clock_(), overdue);
    next_overdue = queue_.NextDeadline();
  }
  Refuse(overdue);
  return next_overdue;
}

void HandlerQueue::PopOverdue(absl::Time now, std::vector<CallQueue::Refusal>& overdue) {
  while (std::optional<CallQueue::Refusal> refusal = queue_.PopOverdue(now)) overdue.push_back(*std::move(refusal));
}

absl::Status HandlerQueue::CheckPlace(ClientId client) const {
  const std::lock_guard lock(mu_);
  return queue_.HasPlaceFor(client) ? absl::OkStatus() : queue_.NoPlace();
}

void HandlerQueue::Shutdown() {
  std::vector<Task> dropped;  // Destroyed without the lock: a task may hold anything.
  {
    const std::lock_guard lock(mu_);
    if (std::exchange(shut_down_, true)) return;
    dropped = queue_.Clear();
  }
  dropped.clear();
  executor_->Shutdown();
}

}  // namespace verbena::rpc
