#include "rpc/testing/turn_executor.h"

#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "rpc/executor/cooperative_thread.h"

namespace verbena::testing {

class TurnExecutor::Handler final : public rpc::CooperativeThread {
 public:
  explicit Handler(const TurnExecutor* executor) : executor_(*executor), thread_([this] { Run(); }) {}
  ~Handler() override { thread_.join(); }

  // For the loop's thread, while it is its turn.
  bool CanRun() const { return ready_ == nullptr || (*ready_)(); }
  bool has_returned() const { return has_returned_; }
  void GiveTurn() {
    std::unique_lock lock(mu_);
    is_handlers_turn_ = true;
    changed_.notify_all();
    changed_.wait(lock, [this] { return !is_handlers_turn_; });
  }

  void YieldUntil(absl::FunctionRef<bool()> ready) override {
    if (ready()) return;
    ready_ = &ready;
    Yield();
    ready_ = nullptr;
  }

 private:
  void Run() {
    const Scope scope(this);
    std::unique_lock lock(mu_);
    AwaitTurn(lock);
    lock.unlock();
    while (!executor_.shut_down_ && executor_.work_()) Yield();
    has_returned_ = true;
    lock.lock();
    is_handlers_turn_ = false;
    changed_.notify_all();
  }
  void Yield() {
    std::unique_lock lock(mu_);
    is_handlers_turn_ = false;
    changed_.notify_all();
    AwaitTurn(lock);
  }
  void AwaitTurn(std::unique_lock<std::mutex>& lock) {
    changed_.wait(lock, [this] { return is_handlers_turn_; });
  }

  const TurnExecutor& executor_;

  // Owned by whose turn it is.
  const absl::FunctionRef<bool()>* ready_ = nullptr;  // Null: waits for nothing but its turn.
  bool has_returned_ = false;

  std::mutex mu_;
  std::condition_variable changed_;
  bool is_handlers_turn_ ABSL_GUARDED_BY(mu_) = false;
  std::thread thread_;  // The last: it uses the others.
};

TurnExecutor::TurnExecutor(ManualLoop* loop, int threads, Work work)
    : loop_(*loop), threads_(static_cast<size_t>(threads)), work_(std::move(work)) {
  loop_.AddSource(this);
}

TurnExecutor::~TurnExecutor() {
  Shutdown();
  loop_.RemoveSource(this);
}

int TurnExecutor::Poll() {
  if (wakes_ > 0 && handlers_.size() < threads_) {
    --wakes_;
    handlers_.push_front(std::make_unique<Handler>(this));
  }
  for (auto handler = handlers_.begin(); handler != handlers_.end(); ++handler) {
    if (!(*handler)->CanRun()) continue;
    (*handler)->GiveTurn();
    if ((*handler)->has_returned()) {
      handlers_.erase(handler);
    } else {
      handlers_.splice(handlers_.end(), handlers_, handler);
    }
    return 1;
  }
  return 0;
}

void TurnExecutor::Shutdown() {
  shut_down_ = true;
  wakes_ = 0;
  loop_.DriveUntil([this] { return handlers_.empty(); });
}

}  // namespace verbena::testing
