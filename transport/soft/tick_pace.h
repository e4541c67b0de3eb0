// How often the device's own thread looks at completion queues that the application polls.
//
// Each look takes a processor, and where every processor polls, from a poller: what it has to do then comes late. So
// the thread looks seldom while all queues are polled all the time, which serves them better than it could, and often
// again as soon as one is polled less: between two polls it may be the only one who looks.
//
// Of the queue pairs in its care it looks at some at a time then, in turn: each look takes the queue pair's lock, and
// its state into this processor's cache. A thousand at a time were a tenth of a processor, and held up the poller for
// milliseconds.
//
// What that costs: of more than 64 queue pairs with requests under way each is looked at every 16 to 64 ms, so a silent
// peer, which is given up after three probes at least (peer_patience.h), has up to 256 ms where its limit is 100 ms.
// Limits of half a second and more, as the usual attributes come to, are kept to within one such time.
//
// Pure. Owner: the progress thread. Thread: its own.

#ifndef VERBENA_TRANSPORT_SOFT_TICK_PACE_H_
#define VERBENA_TRANSPORT_SOFT_TICK_PACE_H_

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace verbena::soft {

class TickPace {
 public:
  static constexpr std::chrono::milliseconds kOften{1};
  static constexpr std::chrono::milliseconds kSeldom{4};
  // Between two looks, of each queue: one in 63 us of the longer time.
  static constexpr uint32_t kPollsMin = 64;
  static constexpr int kLooksToSettle = 64;
  // Of queue pairs while all queues are polled: all are looked at within 16 looks, however many there are (the fewest
  // polls that count are one: a turn that handles a thousand connections polls twenty times a millisecond).
  static constexpr size_t kPairsOfALook = 64;
  static constexpr size_t kLooksForAll = 16;

  // One look. `fewest_polls`: since the last one, of the queue that was polled least; 0 if there is none.
  void OnLook(uint32_t fewest_polls) {
    all_polled_ = fewest_polls > 0;
    busy_ = fewest_polls < kPollsMin ? 0 : std::min(busy_ + 1, kLooksToSettle);
  }

  // At this look, of so many.
  size_t PairsToLookAt(size_t pairs) const {
    if (!all_polled_) return pairs;
    return std::min(pairs, std::max(kPairsOfALook, (pairs + kLooksForAll - 1) / kLooksForAll));
  }
  bool settled() const { return busy_ == kLooksToSettle; }
  std::chrono::milliseconds interval() const { return settled() ? kSeldom : kOften; }

 private:
  bool all_polled_ = false;  // Every queue was, since the look before.
  int busy_ = 0;             // Looks in a row at which every queue had been polled all the time.
};

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_TICK_PACE_H_
