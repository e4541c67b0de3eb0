// Whether a completion queue wants its peers to wake it: one word in the owner's published memory, which peers only
// read.
//
// The word is an epoch and what the queue waits for. The epoch changes with every arming, and a peer signals once per
// epoch; so peers need not write here, and one peer cannot disarm the queue for another.
//
// No wake-up is lost: a peer publishes its news, then reads the word; the owner arms, then looks for news. Both orders
// are sequentially consistent, so one of the two sees the other.

#ifndef VERBENA_TRANSPORT_SOFT_ARMED_WORD_H_
#define VERBENA_TRANSPORT_SOFT_ARMED_WORD_H_

#include <atomic>
#include <cstdint>

namespace verbena::soft {

enum class ArmedFor : uint8_t { kNothing = 0, kSolicited = 1, kAnything = 2 };

// The owner's side. Thread: under the completion queue's lock.
class ArmedWord {
 public:
  explicit ArmedWord(std::atomic<uint64_t>* word) : word_(word), epoch_(word->load() >> 2) {}

  void Arm(ArmedFor what) {
    armed_for_ = what;
    word_->store(++epoch_ << 2 | static_cast<uint64_t>(what));
  }
  void Disarm() {
    armed_for_ = ArmedFor::kNothing;
    word_->store(epoch_ << 2);
  }
  // Lets peers that have signalled signal again.
  void Renew() {
    if (armed_for_ != ArmedFor::kNothing) Arm(armed_for_);
  }
  ArmedFor armed_for() const { return armed_for_; }

 private:
  std::atomic<uint64_t>* word_;
  uint64_t epoch_;
  ArmedFor armed_for_ = ArmedFor::kNothing;
};

// The peer's side. Thread: under the queue pair's lock.
class ArmedWordWatcher {
 public:
  explicit ArmedWordWatcher(const std::atomic<uint64_t>* word) : word_(word) {}

  // True if the owner must be woken now. At most once per arming. `urgent` news wakes an owner that waits for solicited
  // completions only.
  bool ShouldSignal(bool urgent) {
    uint64_t word = word_->load();
    auto armed_for = static_cast<ArmedFor>(word & 3);
    if (armed_for == ArmedFor::kNothing || (armed_for == ArmedFor::kSolicited && !urgent)) return false;
    if (word >> 2 == signalled_epoch_) return false;
    signalled_epoch_ = word >> 2;
    return true;
  }

 private:
  const std::atomic<uint64_t>* word_;
  uint64_t signalled_epoch_ = 0;
};

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_ARMED_WORD_H_
