#include "rpc/blocking/stream_pump.h"

#include "rpc/executor/cooperative_thread.h"

namespace verbena::rpc {

void StreamPump::WaitUntil(std::unique_lock<std::mutex>& lock, absl::FunctionRef<bool()> ready) {
  if (ready()) return;
  if (CooperativeThread* thread = CooperativeThread::current()) {
    lock.unlock();
    thread->YieldUntil([&] {
      const std::lock_guard asking(mu_);
      return ready();
    });
    lock.lock();
  }
  while (!ready()) {
    sleeping_ = true;
    changed_.wait(lock);
  }
  sleeping_ = false;
}

}  // namespace verbena::rpc
