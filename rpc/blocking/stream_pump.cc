#include "rpc/blocking/stream_pump.h"

#include "rpc/executor/cooperative_thread.h"

namespace verbena::rpc {

void StreamPump::WaitUntil(absl::FunctionRef<bool()> ready) {
  if (ready()) return;
  if (CooperativeThread* thread = CooperativeThread::current()) {
    mu_.Unlock();
    thread->YieldUntil([&] {
      const absl::MutexLock lock(&mu_);
      return ready();
    });
    mu_.Lock();
  }
  while (!ready()) {
    sleeping_ = true;
    changed_.Wait(&mu_);
  }
  sleeping_ = false;
}

}  // namespace verbena::rpc
