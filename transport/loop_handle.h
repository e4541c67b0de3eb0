// A way to an event loop that may be gone: for what users may keep longer than the channel or server that made it.
//
// Those who use the loop are counted while they do, and Detach waits until there are none: no lock that a thread could
// hold while it is not running, but for who takes the loop away.
//
// That the loop is gone means that nobody comes to it any more by this handle. Tasks that were posted before may still
// run, beside all who find it gone: what is done in its place must bear that.
//
// Owner: shared by the loop's part of a channel or server and by all that leads back to it, by itself or within what
// they share; whoever calls it has a share. Thread: any, but Detach.

#ifndef VERBENA_TRANSPORT_LOOP_HANDLE_H_
#define VERBENA_TRANSPORT_LOOP_HANDLE_H_

#include <atomic>
#include <cstdint>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "transport/event_loop.h"

namespace verbena::transport {

class LoopHandle {
 public:
  using Task = absl::AnyInvocable<void()>;

  // `loop` stays until Detach. Null: gone already.
  explicit LoopHandle(EventLoop* loop) : loop_(loop) {}

  // Posts `task`, which is destroyed unrun if the loop ends first. False: the loop is gone, and `task` is as it was.
  bool Post(Task& task) {
    if (loop_.load(std::memory_order_acquire) == nullptr) return false;  // Detach must not wait for ever new ones.
    const Use use(this);
    if (use.loop() == nullptr) return false;
    use.loop()->Post(std::exchange(task, nullptr));
    return true;
  }

  // True: what the loop owns may be touched by this thread, which is the loop's.
  bool IsHere() {
    EventLoop* const loop = loop_.load(std::memory_order_acquire);
    if (loop == nullptr) return false;
    if (loop == EventLoop::OfThisThread()) return true;
    const Use use(this);
    return use.loop() != nullptr && use.loop()->InLoopThread();
  }

  bool gone() const { return loop_.load(std::memory_order_acquire) == nullptr; }

  // When it returns, nobody uses the loop by this handle, nor will. The loop's thread.
  void Detach() {
    loop_.store(nullptr, std::memory_order_seq_cst);
    for (uint32_t uses; (uses = uses_.load(std::memory_order_seq_cst)) > 0;) uses_.wait(uses);
  }

 private:
  // The loop does not go while there is one.
  class Use {
   public:
    explicit Use(LoopHandle* handle) : handle_(*handle) {
      handle_.uses_.fetch_add(1, std::memory_order_seq_cst);
      loop_ = handle_.loop_.load(std::memory_order_seq_cst);
    }
    ~Use() {
      const bool last = handle_.uses_.fetch_sub(1, std::memory_order_seq_cst) == 1;
      if (last && handle_.loop_.load(std::memory_order_seq_cst) == nullptr) handle_.uses_.notify_all();
    }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

    EventLoop* loop() const { return loop_; }  // Null: gone.

   private:
    LoopHandle& handle_;
    EventLoop* loop_;
  };

  // A use, at its begin and at its end, writes uses_ and then reads loop_, Detach writes loop_ and then reads uses_:
  // one of them sees the other, since all four are sequentially consistent.
  std::atomic<uint32_t> uses_ = 0;
  std::atomic<EventLoop*> loop_;
};

}  // namespace verbena::transport

#endif  // VERBENA_TRANSPORT_LOOP_HANDLE_H_
