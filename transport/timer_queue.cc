#include "transport/timer_queue.h"

#include <utility>

namespace verbena::transport {

uint64_t TimerQueue::Add(absl::Time when, absl::AnyInvocable<void()> callback) {
  const uint64_t id = ++last_id_;
  timers_.emplace(Key(when, id), std::move(callback));
  times_.emplace(id, when);
  return id;
}

void TimerQueue::Cancel(uint64_t id) {
  const auto found = times_.find(id);
  if (found == times_.end()) return;
  timers_.erase(Key(found->second, id));
  times_.erase(found);
}

int TimerQueue::RunExpired(absl::Time now) {
  const uint64_t last_id_before = last_id_;
  int count = 0;
  auto next = timers_.begin();
  while (next != timers_.end() && next->first.first <= now) {
    if (next->first.second > last_id_before) {
      ++next;
      continue;
    }
    absl::AnyInvocable<void()> callback = std::move(next->second);
    times_.erase(next->first.second);
    timers_.erase(next);
    callback();
    ++count;
    next = timers_.begin();  // The callback may have changed the map.
  }
  return count;
}

absl::Time TimerQueue::NextDeadline() const {
  return timers_.empty() ? absl::InfiniteFuture() : timers_.begin()->first.first;
}

}  // namespace verbena::transport
