// Whether a loop that sleeps should wake when SENDs of its own complete, although nobody awaits them.
//
// Such a completion is often the forerunner of an answer: a loop that wakes for it is awake when the answer comes, and
// answers sooner; where none comes it has woken for nothing. Which it is depends on the device, the peer and the
// traffic, so it is found out: each early wake counts for the next ones if something arrived before the loop slept
// again, else against them. What was found not to be worth it is tried again now and then.
//
// Owner: a poll group. Thread: its loop's. Sans-IO: `received` is how many frames have arrived, ever.

#ifndef VERBENA_TRANSPORT_EARLY_WAKES_H_
#define VERBENA_TRANSPORT_EARLY_WAKES_H_

#include <algorithm>
#include <cstdint>

namespace verbena::transport {

class EarlyWakes {
 public:
  static constexpr int kWorthMax = 8;
  static constexpr uint32_t kSleepsPerTrial = 32;  // Where early wakes have not been worth it.

  // The loop is about to sleep. Judges the wake before, if it was early.
  void OnSleep(uint64_t received) {
    if (state_ == State::kEarly) {
      worth_ = std::clamp(worth_ + (received > received_when_woken_ ? 1 : -1), 0, kWorthMax);
    }
    state_ = State::kNone;
  }
  // Then, if it has SENDs in flight that nobody awaits: whether to wake for them.
  bool Wanted() {
    if (worth_ == 0 && ++sleeps_ % kSleepsPerTrial != 0) return false;
    state_ = State::kAsleep;
    return true;
  }
  // It was woken by a completion, the oldest of the poll that follows.
  void OnWoken(uint64_t received) {
    if (state_ != State::kAsleep) return;
    state_ = State::kWoken;
    received_when_woken_ = received;
  }
  // A poll is to be told: what it found is what woke the loop, or kept it from sleeping.
  bool judging() const { return state_ >= State::kAsleep; }
  // It found something. `own`: the oldest completion in it was that of a SEND.
  void OnPolled(bool own) { state_ = own && state_ == State::kWoken ? State::kEarly : State::kNone; }

 private:
  enum class State : uint8_t {
    kNone,    // There is nothing to find out.
    kEarly,   // It was woken by something of its own. What that was worth is known when it sleeps again.
    kAsleep,  // Or about to be: it wakes early, if something of its own completes first.
    kWoken,   // By that, or by what arrived.
  };

  State state_ = State::kNone;
  int worth_ = kWorthMax / 2;
  uint32_t sleeps_ = 0;  // Without waking early.
  uint64_t received_when_woken_ = 0;
};

}  // namespace verbena::transport

#endif  // VERBENA_TRANSPORT_EARLY_WAKES_H_
