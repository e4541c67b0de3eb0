// How often the device's own thread looks at completion queues that the application polls.
//
// Each look takes a processor, and where every processor polls, from a poller: what it has to do then comes late. So
// the thread looks seldom while all queues are polled all the time, which serves them better than it could, and often
// again as soon as one is polled less: between two polls it may be the only one who looks.
//
// Pure. Owner: the progress thread. Thread: its own.

#ifndef VERBENA_TRANSPORT_SOFT_TICK_PACE_H_
#define VERBENA_TRANSPORT_SOFT_TICK_PACE_H_

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace verbena::soft {

class TickPace {
 public:
  static constexpr std::chrono::milliseconds kOften{1};
  static constexpr std::chrono::milliseconds kSeldom{4};
  // Between two looks, of each queue: one in 63 us of the longer time.
  static constexpr uint32_t kPollsMin = 64;
  static constexpr int kLooksToSettle = 64;

  // One look. `fewest_polls`: since the last one, of the queue that was polled least; 0 if there is none.
  void OnLook(uint32_t fewest_polls) { busy_ = fewest_polls < kPollsMin ? 0 : std::min(busy_ + 1, kLooksToSettle); }

  bool settled() const { return busy_ == kLooksToSettle; }
  std::chrono::milliseconds interval() const { return settled() ? kSeldom : kOften; }

 private:
  int busy_ = 0;  // Looks in a row at which every queue had been polled all the time.
};

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_TICK_PACE_H_
