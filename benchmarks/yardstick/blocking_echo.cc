#include "benchmarks/yardstick/blocking_echo.h"

#include <semaphore.h>

#include <atomic>
#include <thread>
#include <vector>

namespace verbena::benchmarks {
namespace {

using Clock = std::chrono::steady_clock;

// What the writer has started and the reader has not seen come back.
class OnTheirWay {
 public:
  explicit OnTheirWay(size_t max) : starts_(max) { sem_init(&room_, /*pshared=*/0, static_cast<unsigned>(max)); }
  ~OnTheirWay() { sem_destroy(&room_); }
  OnTheirWay(const OnTheirWay&) = delete;
  OnTheirWay& operator=(const OnTheirWay&) = delete;

  // The writer's. Blocks while there are as many as may be.
  void Add() {
    while (sem_wait(&room_) != 0) {  // A signal handler ran.
    }
    starts_[added_++ % starts_.size()] = Clock::now().time_since_epoch().count();
  }
  // The reader's. When the oldest was started.
  Clock::time_point Take() {
    const Clock::rep start = starts_[taken_++ % starts_.size()];
    sem_post(&room_);
    return Clock::time_point(Clock::duration(start));
  }

 private:
  sem_t room_;
  std::vector<std::atomic<Clock::rep>> starts_;
  size_t added_ = 0;  // The writer's.
  size_t taken_ = 0;  // The reader's.
};

}  // namespace

void RunBlockingEcho(const BlockingEcho& stream, size_t in_flight,
                     absl::FunctionRef<bool(Clock::time_point start, Clock::time_point now)> count) {
  if (in_flight == 1) {
    Clock::time_point start = Clock::now();
    bool enough = false;
    while (!enough && stream.write() && stream.read()) {
      const Clock::time_point now = Clock::now();
      enough = count(start, now);
      start = now;
    }
    stream.writes_done();
    return;
  }
  OnTheirWay on_their_way(in_flight);
  std::atomic<bool> over = false;
  std::thread writer([&] {
    do on_their_way.Add();
    while (!over && stream.write());
    stream.writes_done();
  });
  while (stream.read()) {
    if (count(on_their_way.Take(), Clock::now())) over = true;
  }
  over = true;
  on_their_way.Take();  // Of a stream that failed: the writer is not to wait for more.
  writer.join();
}

}  // namespace verbena::benchmarks
