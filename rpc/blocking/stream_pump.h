// What one direction of a blocking stream has on its loop: one operation of the stream after the other, on behalf of a
// thread elsewhere, who sleeps only when there is nothing that he could do.
//
// A turn is a call of Advance, which begins the stream's next operation with Next() as its completion: that brings the
// next turn. Where there is nothing to begin the pump is idle, and the thread elsewhere asks for the next turn.
//
//   AskForTurn() -> [loop] Advance -> stream().WriteBody(…, Next()) -> [it has left] Advance -> … -> idle
//   AskForTurn() -> [loop] Advance -> stream().ReadTo(…, Next()) -> [a message] Advance -> … -> the stream's end
//
// Until it has ended, the stream keeps the pump in that completion, and the pump the stream: each call closes its
// stream, and runs what completes by that.
//
// Owner: shared by that thread's end and by what is under way on the loop. Thread: as each part says.

#ifndef VERBENA_RPC_BLOCKING_STREAM_PUMP_H_
#define VERBENA_RPC_BLOCKING_STREAM_PUMP_H_

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "rpc/message_stream.h"

namespace verbena::rpc {

class StreamPump : public std::enable_shared_from_this<StreamPump> {
 public:
  explicit StreamPump(std::shared_ptr<MessageStream> stream) : stream_(std::move(stream)) {}
  virtual ~StreamPump() = default;
  StreamPump(const StreamPump&) = delete;
  StreamPump& operator=(const StreamPump&) = delete;

 protected:
  // What was begun last has ended with `status`; OK also at a turn that was asked for. The loop's thread or, when the
  // loop is gone, anybody's, one at a time.
  virtual void Advance(const absl::Status& status) = 0;
  // No turn comes any more. As Advance, but may not touch the stream.
  virtual void End(const absl::Status& status) = 0;

  // Brings the next Advance, as completion of an operation of the stream; dropped uncalled, as with a task of a loop
  // that ends, the End.
  MessageStream::Done Next() { return Turn(shared_from_this()); }
  // Any thread, but not with the lock.
  void AskForTurn() { stream_->PostTurn(Next()); }

  // Until `ready`, which is asked with the lock, `lock` of mu_. The thread elsewhere.
  void WaitUntil(std::unique_lock<std::mutex>& lock, absl::FunctionRef<bool()> ready);
  // Something changed that WaitUntil may wait for. True: WakeLater is to be called, without the lock.
  bool TakeSleeper() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) { return std::exchange(sleeping_, false); }
  // Behind what the loop is in the midst of: who is woken might take its processor.
  void WakeLater() { stream_->PostTurn(Alarm(shared_from_this())); }

  MessageStream& stream() { return *stream_; }

  // One operation of the thread elsewhere; a second one beside it is refused.
  class Operation {
   public:
    explicit Operation(StreamPump* pump) : under_way_(pump->under_way_), only_(!under_way_.test_and_set()) {}
    ~Operation() {
      if (only_) under_way_.clear();
    }
    Operation(const Operation&) = delete;
    Operation& operator=(const Operation&) = delete;

    bool only() const { return only_; }

   private:
    std::atomic_flag& under_way_;
    const bool only_;
  };

  bool under_way() const { return under_way_.test(); }  // There is an Operation.

  std::mutex mu_;

 private:
  class Turn {
   public:
    explicit Turn(std::shared_ptr<StreamPump> pump) : pump_(std::move(pump)) {}
    Turn(Turn&&) noexcept = default;
    ~Turn() {
      if (pump_ == nullptr) return;
      pump_->End(absl::CancelledError("the event loop has ended"));
      pump_->Wake();
    }
    void operator()(const absl::Status& status) { std::exchange(pump_, nullptr)->Advance(status); }

   private:
    std::shared_ptr<StreamPump> pump_;
  };
  class Alarm {
   public:
    explicit Alarm(std::shared_ptr<StreamPump> pump) : pump_(std::move(pump)) {}
    Alarm(Alarm&&) noexcept = default;
    ~Alarm() {
      if (pump_ != nullptr) pump_->Wake();
    }
    void operator()(const absl::Status&) { std::exchange(pump_, nullptr)->Wake(); }

   private:
    std::shared_ptr<StreamPump> pump_;
  };

  void Wake() { changed_.notify_all(); }

  const std::shared_ptr<MessageStream> stream_;
  std::atomic_flag under_way_;
  std::condition_variable changed_;             // Whatever WaitUntil may wait for.
  bool sleeping_ ABSL_GUARDED_BY(mu_) = false;  // And nobody is about to wake him.
};

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_BLOCKING_STREAM_PUMP_H_
