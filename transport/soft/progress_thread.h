// The device's own thread: progress for queue pairs whose application does not look.
//
// Normally it sleeps. It is woken
//   - by its pipe, to which peers write too: somebody has news for a completion queue that is unattended, work for one
//     whose owner sleeps, or was not heeded for a while. It lets every completion queue make progress.
//   - by descriptors that others have it watch.
//   - every millisecond while a completion queue is attended, that is, was polled since the last time. One that was not
//     is published as unattended (see armed_word.h), and peers wake this thread from then on. While all of them are
//     polled all the time, every four milliseconds (tick_pace.h); nothing else is looked at more often then.
//   - when a supervised queue pair is due: one with requests that its peer has not yet carried out (see
//     peer_patience.h), or with a message that waits for a receive for a limited time. While all completion queues are
//     polled it may be looked at later, where there are many: within 16 looks (tick_pace.h).
// So an idle process spends nothing, and an application that polls is not disturbed.
//
// With VERBENA_SOFT_PROGRESS=polls in the environment there is no thread, and progress is made by the application's
// polls alone: for tests that are to be the same each time. Nothing times out then, and no peer is given up, closed or
// not.
//
// Owner: the device; never destroyed, since a thread cannot be stopped safely while a process exits. A child made by
// fork has no such thread, and may not use the device. Thread: any. Locks: the roster's is taken before those of
// completion_channel.h; Attend and Supervise may be called with any of those held.

#ifndef VERBENA_TRANSPORT_SOFT_PROGRESS_THREAD_H_
#define VERBENA_TRANSPORT_SOFT_PROGRESS_THREAD_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "transport/soft/rota.h"
#include "transport/soft/tick_pace.h"
#include "transport/soft/unique_fd.h"
#include "transport/soft/wake_pipe.h"

namespace verbena::soft {

class CompletionQueue;
class QueuePair;

class ProgressThread {
 public:
  using Clock = std::chrono::steady_clock;

  // `watched` is an epoll descriptor.
  ProgressThread(WakePipe wake, UniqueFd watched);
  ProgressThread(const ProgressThread&) = delete;
  ProgressThread& operator=(const ProgressThread&) = delete;

  // Whether the caller is a device's thread, and not the application.
  static bool IsCaller();

  // False: there is no thread and will be none.
  bool enabled() const { return enabled_; }
  // Starts the thread unless it runs already, or must not. Before the first link. 0, or an errno value.
  int Start();

  // Has the thread let every completion queue make progress.
  void Wake() { wake_.Wake(); }
  // What a peer wakes it by. Not valid if the process is out of descriptors.
  UniqueFd NewFdForPeer() const { return wake_.NewFdForPeer(); }

  // Leave returns when the thread does not use the object and will not. Not in a child made by fork.
  void Join(CompletionQueue* queue);
  void Leave(CompletionQueue* queue);
  void Leave(QueuePair* queue_pair);

  // A completion queue is attended from now on, until CompletionQueue::TakePolls denies it.
  void Attend() { WakeIfIdle(); }
  // A queue pair wants to be supervised from now on, until QueuePair::Supervise wants it no more.
  void Supervise(QueuePair* queue_pair);

  // Has the thread call `on_ready` when `fd` is ready. Nothing is awaited before the first Await; each Await stands for
  // one call, with `events` as in epoll_ctl. A call may come without need. `on_ready` may call Await, and takes only
  // locks that are not held by callers of Watch and Unwatch. 0, or an errno value.
  int Watch(int fd, std::function<void()> on_ready);
  int Await(int fd, uint32_t events);
  // Returns when no call for `fd` runs or will come. Before `fd` is closed.
  void Unwatch(int fd);

 private:
  // How long an event may wait before its channel is made readable again.
  static constexpr std::chrono::milliseconds kReminder{100};

  void Run();
  // Looks after the completion queues; when to look again.
  std::optional<Clock::time_point> TickQueues(Clock::time_point now);
  // `next` is when a tick is due for other reasons; earlier if one of these needs one.
  void SuperviseInTurn(Clock::time_point now, std::optional<Clock::time_point>& next)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(roster_mu_);
  // What is due, but for what was woken for; when to look again.
  std::optional<Clock::time_point> Tick(Clock::time_point now);
  // Sleeps until something happens or `next` comes.
  void Sleep(std::optional<Clock::time_point> next);
  bool SomethingIsDue();
  void HelpEverybody();
  void CallBack(int fd);
  void WakeIfIdle() {
    if (!idle_.load()) return;
    woken_by_us_.store(true);
    Wake();
  }

  const bool enabled_;
  const WakePipe wake_;
  const UniqueFd watched_;
  std::mutex start_mu_;
  bool started_ ABSL_GUARDED_BY(start_mu_) = false;
  // The thread sleeps, or is about to, and nothing but a wake-up ends that. Whoever gives it something to do does that
  // first and then looks here; the thread sets this first and then looks whether there is something to do.
  std::atomic<bool> idle_{false};
  std::atomic<bool> woken_by_us_{false};  // The wake-up is about something to do here, not about anybody's news.
  TickPace pace_;                         // The thread's own.

  std::mutex roster_mu_;  // Held during every use of a member.
  std::vector<CompletionQueue*> queues_ ABSL_GUARDED_BY(roster_mu_);
  Rota<QueuePair> supervised_ ABSL_GUARDED_BY(roster_mu_);

  std::mutex newcomers_mu_;
  std::vector<QueuePair*> newcomers_ ABSL_GUARDED_BY(newcomers_mu_);  // On their way to supervised_.

  std::mutex callbacks_mu_;  // Held during a call.
  std::map<int, std::function<void()>> callbacks_ ABSL_GUARDED_BY(callbacks_mu_);
};

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_PROGRESS_THREAD_H_
