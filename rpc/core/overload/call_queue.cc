#include "rpc/core/overload/call_queue.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

namespace verbena::rpc {
namespace {

std::string InWords(absl::Duration waited) { return absl::FormatDuration(absl::Trunc(waited, absl::Microseconds(1))); }

}  // namespace

std::optional<CallQueue::Refusal> CallQueue::Push(ClientId client, Task task, absl::Time now) {
  if (waiting_.empty()) time_.OnFirst(now);
  std::optional<FairQueue<Task>::Entry> dropped = waiting_.Push(client, std::move(task), now);
  if (!dropped.has_value()) return std::nullopt;
  if (dropped->client == client) return Refusal{std::move(dropped->value), NoPlace()};
  return Refusal{std::move(dropped->value),
                 absl::ResourceExhaustedError(absl::StrCat(
                     "the call waited ", InWords(now - dropped->since), " for a handler thread and gave its place, of ",
                     waiting_.places(), " (executor_queue_max), to a client with fewer calls that wait"))};
}

absl::Status CallQueue::NoPlace() const {
  return absl::ResourceExhaustedError(
      absl::StrCat("the server's executor is full: ", waiting_.places(), " calls wait (executor_queue_max)"));
}

std::optional<CallQueue::Refusal> CallQueue::PopOverdue(absl::Time now) {
  if (now < NextDeadline()) return std::nullopt;
  FairQueue<Task>::Entry entry = waiting_.PopOldest();
  const absl::Duration waited = now - entry.since;
  return Refusal{std::move(entry.value), Overdue(waited)};
}

absl::Status CallQueue::Overdue(absl::Duration waited) const {
  if (waited >= time_.max()) {
    return absl::ResourceExhaustedError(absl::StrCat("the call waited ", InWords(waited),
                                                     " for a handler thread (executor_queue_time_max is ",
                                                     absl::FormatDuration(time_.max()), ")"));
  }
  return absl::ResourceExhaustedError(
      absl::StrCat("the call waited ", InWords(waited), " for a handler thread (executor_queue_time_target is ",
                   absl::FormatDuration(time_.target()), ", and calls have waited without a pause for ",
                   absl::FormatDuration(time_.max()), ", executor_queue_time_max)"));
}

CallQueue::Task CallQueue::Pop() { return waiting_.empty() ? Task() : waiting_.PopNext().value; }

std::vector<CallQueue::Task> CallQueue::Clear() {
  std::vector<Task> cleared;
  while (!waiting_.empty()) cleared.push_back(waiting_.PopOldest().value);
  return cleared;
}

}  // namespace verbena::rpc
