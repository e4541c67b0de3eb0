// The event loop on epoll(7). See event_loop.h for what a loop is.
//
// One turn: run posted tasks, look at the file descriptors (now and then, and where timers are due), poll the sources,
// run the timers that were due before those. A turn that found nothing to do for as long as the wait policy polls arms
// every source, polls once more (what came in between raised no event: the lost wake-up) and sleeps.

#ifndef VERBENA_TRANSPORT_EPOLL_EVENT_LOOP_H_
#define VERBENA_TRANSPORT_EPOLL_EVENT_LOOP_H_

#include <sys/epoll.h>

#include <array>
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/any_invocable.h"
#include "base/handover_queue.h"
#include "transport/event_loop.h"
#include "transport/loop_clock.h"
#include "transport/poll_time.h"
#include "transport/timer_queue.h"

namespace verbena::transport {

class EpollEventLoop : public EventLoop {
 public:
  EpollEventLoop(const EventLoopOptions& options, int epoll_fd, int wake_fd);
  ~EpollEventLoop() override;

  void Post(absl::AnyInvocable<void()> task) override;
  TimerId AddTimer(absl::Time when, absl::AnyInvocable<void()> callback) override;
  void CancelTimer(TimerId id) override;
  absl::Time Now() const override { return clock_.now(); }
  absl::Time ReadNow() override;
  absl::Time RecentNow() override;
  absl::Time Due() const override { return due_; }
  absl::Time WallNow() override;
  void AddSource(PollSource* source) override;
  void RemoveSource(PollSource* source) override;
  absl::Status AddFd(int fd, PollSource* source) override;
  void RemoveFd(int fd, PollSource* source) override;
  void RunUntil(absl::FunctionRef<bool()> done) override;
  void Stop() override;
  bool InLoopThread() const override;

 private:
  struct Readable {
    static constexpr int kMax = 64;
    std::array<epoll_event, kMax> events;
    int count = 0;
  };

  Readable AwaitReadable(absl::Duration wait);
  // Each returns how many items it handled.
  int HandleReadable(const Readable& readable);
  int PollSources();

  void Turn();
  void ReadClock();
  bool MayKeepPolling();
  // The loop has waited since wait_began_, until `found`.
  void EndWait(bool slept, absl::Time found);
  void ArmAndSleep();
  void Wake();

  // Constant after construction.
  const EventLoopOptions options_;
  const int epoll_fd_;
  const int wake_fd_;

  // Owned by the loop's thread.
  LoopClock clock_;
  absl::Time due_;  // What became due after it waits for the next turn's looks.
  // The wall clock, and clock_ when it was read.
  absl::Time wall_now_;
  absl::Time wall_read_at_;
  PollTime poll_time_;
  absl::Time wait_began_;                         // While idle_turns_ is not 0: the clock at the first of them.
  uint32_t turns_ = 0;                            // Since the last look at the descriptors that they made due.
  absl::Time next_epoll_ = absl::InfinitePast();  // At the latest.
  uint32_t idle_turns_ = 0;                       // Since the last work or sleep.
  std::vector<PollSource*> sources_;              // Null: removed since the outermost walk began.
  bool walks_sources_ = false;                    // A source may run the loop within its Poll.
  bool source_removed_ = false;
  absl::flat_hash_map<int, PollSource*> readers_;
  TimerQueue timers_;

  // Any thread.
  std::atomic<std::thread::id> thread_;
  // Post writes tasks_ and then reads sleeping_, the loop writes sleeping_ and then reads tasks_: one of them must see
  // the other. That holds only if all four are sequentially consistent; an acquire load may be served before the store
  // in front of it (AArch64's LDAPR is).
  HandoverQueue<absl::AnyInvocable<void()>> tasks_;
  // And nobody has undertaken to wake it. He does so at once; if he is stopped in between, the others' tasks wait.
  std::atomic<bool> sleeping_ = false;
  std::atomic<bool> stopped_ = false;
};

}  // namespace verbena::transport

#endif  // VERBENA_TRANSPORT_EPOLL_EVENT_LOOP_H_
