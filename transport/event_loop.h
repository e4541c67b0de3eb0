// The event loop: the thread that owns connections, polls completion queues and runs timers and posted tasks.
//
// A loop polls its sources for a while, arms them, polls once more, then sleeps in epoll_wait. Several loops share
// nothing.
//
// Owner: the EventLoopGroup, or a user who drives it from his own thread. Thread: everything is for the loop's own
// thread but Post, Stop, InLoopThread and WallNow, as it says, which any thread may call.

#ifndef VERBENA_TRANSPORT_EVENT_LOOP_H_
#define VERBENA_TRANSPORT_EVENT_LOOP_H_

#include <cstdint>
#include <list>
#include <memory>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace verbena::transport {

// How a loop waits for work.
enum class WaitPolicy {
  kBusy,      // Polls for ever: lowest latency, one core.
  kEvent,     // Arms and sleeps at once: no CPU when idle.
  kAdaptive,  // Polls for as long as its last waits make worth while (poll_time.h), then sleeps.
};

struct EventLoopOptions {
  WaitPolicy wait = WaitPolicy::kAdaptive;
  // kAdaptive: the most that a loop polls before it sleeps, and what it takes a sleep to cost: a little longer than a
  // wake-up takes. Zero is kEvent, infinite kBusy.
  absl::Duration poll_duration = absl::Microseconds(50);
  int cpu = -1;  // Core that the loop's thread is pinned to; -1 = none.
};

// Something a loop polls: a device's completion queues, for instance. Called on the loop's thread only.
class PollSource {
 public:
  virtual ~PollSource() = default;
  virtual int Poll() = 0;  // Handles what is there, without blocking. Returns how many items it handled.
  virtual void Arm() = 0;  // Asks for an event on the next item; the loop polls once more before it sleeps.
  virtual void OnReadable(int fd) = 0;  // A file descriptor added by AddFd is readable.
};

using TimerId = uint64_t;  // 0 = none.

class EventLoop {
 public:
  static absl::StatusOr<std::unique_ptr<EventLoop>> Create(const EventLoopOptions& options);
  virtual ~EventLoop() = default;

  // Runs `task` on the loop's thread, soon, in order of posting. Tasks posted after Stop are destroyed unrun when the
  // loop is.
  virtual void Post(absl::AnyInvocable<void()> task) = 0;
  // Runs `callback` on the loop's thread at or after `when` (steady clock), unless cancelled. Each source, and of the
  // descriptors 64 at least, is looked at between `when` and then: a timeout means that nothing came, however long a
  // turn held up the loop, but for what a source leaves to its next turn (CmChannel::behind).
  virtual TimerId AddTimer(absl::Time when, absl::AnyInvocable<void()> callback) = 0;
  virtual void CancelTimer(TimerId id) = 0;
  // The loop's steady clock, read once in a turn, or in a few that found nothing; and by ReadNow, RecentNow.
  virtual absl::Time Now() const = 0;
  // The same clock, read anew: for who sets a timer where this turn may have lasted long. Now() goes on from there; an
  // instant taken from it before is older.
  virtual absl::Time ReadNow() { return Now(); }
  // The same, to a millisecond: for a few nanoseconds, mostly.
  virtual absl::Time RecentNow() { return ReadNow(); }
  // For timers' call-backs: the instant by which this turn's timers run. All that had come until then has been handled;
  // what came until Now, which another call-back may have read anew, has not.
  virtual absl::Time Due() const { return Now(); }
  // The wall clock, for instants that the loop's users share with others, deadlines: in the loop's thread read once for
  // each reading of Now, and so as old as that or less; where the loop does not run, on any thread, absl::Now. A loop
  // with a clock of its own, in tests, has one here too, which goes as Now does and is for its thread alone.
  virtual absl::Time WallNow() { return absl::Now(); }

  virtual void AddSource(PollSource* source) = 0;
  virtual void RemoveSource(PollSource* source) = 0;
  // A descriptor that another source has goes over to this one; then that one's RemoveFd changes nothing.
  virtual absl::Status AddFd(int fd, PollSource* source) = 0;
  virtual void RemoveFd(int fd, PollSource* source) = 0;

  // Runs the loop on the calling thread until `done` returns true or Stop is called. `done` is asked once a turn. Not
  // from what the loop itself runs: the rest of what is just being handled waits meanwhile, and `done` may wait for
  // that.
  virtual void RunUntil(absl::FunctionRef<bool()> done) = 0;
  virtual void Stop() = 0;
  virtual bool InLoopThread() const = 0;
  // The loop that the calling thread runs at the moment, the innermost if it runs one within another. Null: none. Any
  // thread.
  static EventLoop* OfThisThread() { return of_this_thread_; }

  // What a layer keeps for each loop, under a key of its own (an address that is nobody else's): empty until it is set,
  // destroyed with the loop, last made first. Loop's thread only.
  std::shared_ptr<void>& Local(const void* key) {
    for (auto& [known, value] : locals_) {
      if (known == key) return value;
    }
    return locals_.emplace_back(key, nullptr).second;
  }
  // Destroys what is kept under this key, if anything is, before the loop ends. Loop's thread only.
  void DropLocal(const void* key) {
    std::shared_ptr<void> dropped;  // Destroyed when it is out of the list: it may look at others.
    locals_.remove_if([&](auto& local) {
      if (local.first != key) return false;
      dropped = std::move(local.second);
      return true;
    });
  }

 protected:
  // For implementations: while it lives, the calling thread runs `loop`.
  class ThreadScope {
   public:
    explicit ThreadScope(EventLoop* loop) : outer_(std::exchange(of_this_thread_, loop)) {}
    ~ThreadScope() { of_this_thread_ = outer_; }
    ThreadScope(const ThreadScope&) = delete;
    ThreadScope& operator=(const ThreadScope&) = delete;

   private:
    EventLoop* const outer_;
  };

  // For destructors of implementations: destroys the locals while the loop can still be called.
  void DestroyLocals() {
    while (!locals_.empty()) locals_.pop_back();
  }

 private:
  static constinit inline thread_local EventLoop* of_this_thread_ = nullptr;

  std::list<std::pair<const void*, std::shared_ptr<void>>> locals_;  // Few; a reference stays valid.
};

}  // namespace verbena::transport

#endif  // VERBENA_TRANSPORT_EVENT_LOOP_H_
