#include "transport/timer_queue.h"

#include <utility>

namespace verbena::transport {

uint64_t TimerQueue::Add(absl::Time when, absl::AnyInvocable<void()> callback) {
  const uint64_t id = ++last_id_;
  due_.emplace(when, id);
  timers_.emplace(id, Timer{when, std::move(callback)});
  return id;
}

void TimerQueue::Cancel(uint64_t id) {
  const auto found = timers_.find(id);
  if (found == timers_.end()) return;
  due_.erase(Key(found->second.when, id));
  const Timer cancelled = std::move(found->second);  // What goes with it may cancel others.
  timers_.erase(found);
}

int TimerQueue::RunExpired(absl::Time now) {
  const uint64_t last_id_before = last_id_;
  int count = 0;
  auto next = due_.begin();
  while (next != due_.end() && next->first <= now) {
    if (next->second > last_id_before) {
      ++next;
      continue;
    }
    const auto timer = timers_.find(next->second);
    absl::AnyInvocable<void()> callback = std::move(timer->second.callback);
    timers_.erase(timer);
    due_.erase(next);
    callback();
    ++count;
    next = due_.begin();  // The callback may have changed the set.
  }
  return count;
}

absl::Time TimerQueue::NextDeadline() const { return due_.begin()->first; }

}  // namespace verbena::transport
