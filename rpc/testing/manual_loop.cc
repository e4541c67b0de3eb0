#include "rpc/testing/manual_loop.h"

#include <algorithm>

namespace verbena::testing {
// While it lives, the calling thread is the loop's thread.
class ManualLoop::Driving {
 public:
  explicit Driving(ManualLoop* loop)
      : thread_(loop->thread_), outer_(thread_.exchange(std::this_thread::get_id())), scope_(loop) {}
  ~Driving() { thread_ = outer_; }

 private:
  std::atomic<std::thread::id>& thread_;
  const std::thread::id outer_;
  const ThreadScope scope_;
};

void ManualLoop::Post(absl::AnyInvocable<void()> task) {
  const std::lock_guard lock(mu_);
  ++posted_;
  tasks_.push_back(std::move(task));
}

transport::TimerId ManualLoop::AddTimer(absl::Time when, absl::AnyInvocable<void()> callback) {
  const transport::TimerId id = ++last_timer_;
  timers_.emplace(std::make_pair(when, id), std::move(callback));
  return id;
}

void ManualLoop::CancelTimer(transport::TimerId id) {
  std::erase_if(timers_, [id](const auto& timer) { return timer.first.second == id; });
}

absl::Status ManualLoop::AddFd(int, transport::PollSource*) { return absl::OkStatus(); }

bool ManualLoop::RunOneTask() {
  absl::AnyInvocable<void()> task;
  {
    const std::lock_guard lock(mu_);
    if (tasks_.empty()) return false;
    task = std::move(tasks_.front());
    tasks_.pop_front();
  }
  const Driving driving(this);
  task();
  task = nullptr;  // What it captured dies on the loop's thread as well.
  return true;
}

bool ManualLoop::PollSources() {
  const Driving driving(this);
  return std::any_of(sources_.begin(), sources_.end(), [](auto* source) { return source->Poll() > 0; });
}

bool ManualLoop::RunTimerDueBy(absl::Time until) {
  if (timers_.empty() || timers_.begin()->first.first > until) return false;
  auto timer = timers_.extract(timers_.begin());
  now_ = std::max(now_, timer.key().first);
  const Driving driving(this);
  timer.mapped()();
  return true;
}

bool ManualLoop::Step() { return RunOneTask() || PollSources() || RunTimerDueBy(now_); }

void ManualLoop::RunUntilIdle() {
  while (Step()) {
  }
}

void ManualLoop::Advance(absl::Duration duration) {
  const absl::Time until = now_ + duration;
  RunUntilIdle();
  while (RunTimerDueBy(until)) RunUntilIdle();
  now_ = std::max(now_, until);
}

void ManualLoop::RunUntil(absl::FunctionRef<bool()> done) {
  DriveUntil([this, done] { return stopped_ || done(); });
}

void ManualLoop::DriveUntil(absl::FunctionRef<bool()> done) {
  while (!done()) {
    if (Step() || RunTimerDueBy(absl::InfiniteFuture())) continue;
    std::this_thread::yield();
  }
}

}  // namespace verbena::testing
