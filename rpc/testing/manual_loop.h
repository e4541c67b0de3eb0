// An event loop with virtual time, driven by the test step by step: no thread, no clock, no sleeping. Its wall clock
// shows the real time when the loop is made, and goes as its own does from there.
//
// Owner: the test. Thread: one drives it; Post, Stop and InLoopThread are for any.

#ifndef VERBENA_RPC_TESTING_MANUAL_LOOP_H_
#define VERBENA_RPC_TESTING_MANUAL_LOOP_H_

#include <atomic>
#include <deque>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "transport/event_loop.h"

namespace verbena::testing {

class ManualLoop : public transport::EventLoop {
 public:
  ~ManualLoop() override { DestroyLocals(); }

  // Runs what is posted and due, and what that posts, until nothing is left at this instant.
  void RunUntilIdle();
  // Runs one posted task. False: there was none.
  bool RunOneTask();
  // Lets time pass: every timer up to then runs at its own instant.
  void Advance(absl::Duration duration);
  // As if what runs now took so long: neither clock shows it before ReadNow.
  void HoldUp(absl::Duration duration) { held_up_ += duration; }
  size_t timers() const { return timers_.size(); }
  // Tasks posted since the start: what a hot path must not need.
  size_t posted() const { return posted_; }

  void Post(absl::AnyInvocable<void()> task) override;
  transport::TimerId AddTimer(absl::Time when, absl::AnyInvocable<void()> callback) override;
  void CancelTimer(transport::TimerId id) override;
  absl::Time Now() const override { return now_; }
  absl::Time ReadNow() override { return now_ += std::exchange(held_up_, absl::ZeroDuration()); }
  absl::Time WallNow() override { return now_ + wall_ahead_; }
  // Sources are polled when no task is left; descriptors are not.
  void AddSource(transport::PollSource* source) override { sources_.push_back(source); }
  void RemoveSource(transport::PollSource* source) override { std::erase(sources_, source); }
  absl::Status AddFd(int, transport::PollSource*) override;
  void RemoveFd(int, transport::PollSource*) override {}
  // Where nothing is left to run now, jumps to the next timer; where there is none, waits for another thread's Post.
  void RunUntil(absl::FunctionRef<bool()> done) override;
  // The same whether or not the loop is stopped.
  void DriveUntil(absl::FunctionRef<bool()> done);
  void Stop() override { stopped_ = true; }
  bool InLoopThread() const override { return thread_ == std::this_thread::get_id(); }

 private:
  class Driving;

  bool PollSources();
  bool RunTimerDueBy(absl::Time until);
  bool Step();

  // Owned by the driving thread.
  absl::Time now_ = absl::UnixEpoch() + absl::Hours(1);
  absl::Duration held_up_ = absl::ZeroDuration();  // And not yet in now_.
  const absl::Duration wall_ahead_ = absl::Now() - now_;
  std::vector<transport::PollSource*> sources_;
  std::map<std::pair<absl::Time, transport::TimerId>, absl::AnyInvocable<void()>> timers_;
  transport::TimerId last_timer_ = 0;

  // Any thread.
  std::atomic<std::thread::id> thread_;
  std::atomic<bool> stopped_ = false;
  std::atomic<size_t> posted_ = 0;
  std::mutex mu_;
  std::deque<absl::AnyInvocable<void()>> tasks_ ABSL_GUARDED_BY(mu_);
};

}  // namespace verbena::testing

#endif  // VERBENA_RPC_TESTING_MANUAL_LOOP_H_
