#include "transport/soft/spin_lock.h"

#include <sched.h>

#include <chrono>
#include <thread>

namespace verbena::soft {
namespace {

constexpr int kSpins = 100;
constexpr int kYields = 100;
constexpr std::chrono::microseconds kSleep{50};

void WaitALittle(int turn) {
  if (turn < kSpins) return __builtin_ia32_pause();
  if (turn < kSpins + kYields) {
    sched_yield();
  } else {
    std::this_thread::sleep_for(kSleep);
  }
}

}  // namespace

void SpinLock::Await() {
  for (int turn = 0; held_.load(std::memory_order_relaxed) || held_.exchange(true, std::memory_order_acquire); ++turn) {
    WaitALittle(turn);
  }
}

}  // namespace verbena::soft
