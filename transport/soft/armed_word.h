// How a completion queue wants to be told of news: one word in memory that its owner publishes and peers only read.
//
// The word is an epoch, whether nobody polls the queue ("unattended"), and what completions it is armed for. Each kind
// of wake-up is given once per epoch by one peer; so peers need not write here, and one peer cannot disarm the queue
// for another.
//
// No wake-up is lost: a peer publishes its news, then reads the word; the owner changes the word, then looks for news.
// Both orders are sequentially consistent, so one of the two sees the other.

#ifndef VERBENA_TRANSPORT_SOFT_ARMED_WORD_H_
#define VERBENA_TRANSPORT_SOFT_ARMED_WORD_H_

#include <atomic>
#include <cstdint>

namespace verbena::soft {

enum class ArmedFor : uint8_t { kNothing = 0, kSolicited = 1, kAnything = 2 };

// What a peer has for a completion queue.
enum class News : uint8_t {
  kWork,       // Something to be done that completes nothing here: a one-sided request.
  kMessage,    // May complete something.
  kImportant,  // The same, and is worth waking an owner that waits for solicited completions only.
  kAnswer,     // Completes something that the owner posted, when he looks; until then nobody needs it.
};

// The owner's side. Thread: under the completion queue's lock.
class ArmedWord {
 public:
  explicit ArmedWord(std::atomic<uint64_t>* word) : word_(word), epoch_(word->load() >> 3) {}

  void Arm(ArmedFor what) {
    armed_for_ = what;
    Renew();
  }
  void Disarm() {
    armed_for_ = ArmedFor::kNothing;
    Store();
  }
  void SetUnattended(bool unattended) {
    unattended_ = unattended;
    Renew();
  }
  // Lets peers that have given a wake-up give another.
  void Renew() {
    ++epoch_;
    Store();
  }
  ArmedFor armed_for() const { return armed_for_; }
  bool unattended() const { return unattended_; }

 private:
  void Store() { word_->store(epoch_ << 3 | (unattended_ ? 4 : 0) | static_cast<uint64_t>(armed_for_)); }

  std::atomic<uint64_t>* word_;
  uint64_t epoch_;
  ArmedFor armed_for_ = ArmedFor::kNothing;
  bool unattended_ = false;
};

// The peer's side. Thread: under the queue pair's lock.
class ArmedWordWatcher {
 public:
  enum class Wake : uint8_t {
    kNobody,
    kChannel,  // The application, by its completion channel.
    kDevice,   // The owner's progress thread: the application does not look, and need not.
  };

  explicit ArmedWordWatcher(const std::atomic<uint64_t>* word) : word_(word) {}

  // The owner polls, or did lately, and does not want to be woken.
  bool IsPolled() const { return (word_->load() & 7) == 0; }

  // Who must be woken now.
  Wake WhomToWake(News news) {
    uint64_t word = word_->load();
    if ((word & 7) == 0) return Wake::kNobody;
    auto armed_for = static_cast<ArmedFor>(word & 3);
    bool for_application = (news == News::kImportant && armed_for != ArmedFor::kNothing) ||
                           (news != News::kWork && armed_for == ArmedFor::kAnything);
    if (news == News::kAnswer && !for_application) return Wake::kNobody;
    uint64_t& woken = for_application ? channel_woken_ : device_woken_;
    if (word >> 3 == woken) return Wake::kNobody;
    woken = word >> 3;
    return for_application ? Wake::kChannel : Wake::kDevice;
  }

 private:
  const std::atomic<uint64_t>* word_;
  uint64_t channel_woken_ = 0;  // Epochs in which that wake-up was given.
  uint64_t device_woken_ = 0;
};

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_ARMED_WORD_H_
