// Whether, and how, the bytes of a READ that we could copy by ourselves are asked of the peer instead.
//
// Between processes our own copy is a system call that looks up every page: a peer that polls has written as much into
// its response ring meanwhile, and that is in the caches of both. So such a peer is asked: for a long READ in parts, of
// which there are few on their way, so that messages go in between. When one does, fewer and shorter ones follow for a
// while. A peer that does not answer at once, because it is in a handler perhaps, is not asked again for a while, each
// time twice as long: a READ should cost it nothing.
//
// Pure. Owner: a requester. Thread: its lock.

#ifndef VERBENA_TRANSPORT_SOFT_READ_ASKING_H_
#define VERBENA_TRANSPORT_SOFT_READ_ASKING_H_

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "transport/soft/shared_layout.h"

namespace verbena::soft {

class ReadAsking {
 public:
  using Clock = std::chrono::steady_clock;

  // On their way at most: what fills the response ring.
  static constexpr uint64_t kPartsMax = 4;
  static constexpr uint64_t kPartBytesMax = kRingBytes / kPartsMax;
  // The same of a long READ while many messages go ahead of it; and how many that are, for how much that is asked for:
  // more than the ends of large calls are, less than small calls one after another.
  static constexpr uint64_t kPartsMaxNarrow = 2;
  static constexpr uint64_t kPartBytesNarrow = 8 * 1024;
  static constexpr uint32_t kMessagesMany = 8;
  static constexpr uint64_t kCountedBytes = 512 * 1024;
  // What a peer may take to answer a part: several times as long as one that polls needs for all that are on their way.
  static constexpr std::chrono::microseconds kPrompt{50};
  // So many slices are copied by ourselves after an answer that was late.
  static constexpr uint32_t kSlicesAloneMin = 16;
  static constexpr uint32_t kSlicesAloneMax = 4096;

  bool MayAsk() const { return slices_alone_ == 0; }

  // How much to ask for of a READ, `left` of whose `length` bytes nobody was asked for yet; 0: not before an answer.
  uint64_t NextPart(uint64_t length, uint64_t left) const {
    const bool narrow = narrow_ && length > 2 * kPartBytesMax;  // Shorter ones are soon over.
    const uint64_t parts_max = narrow ? kPartsMaxNarrow : kPartsMax;
    return asked_ - answered_ < parts_max ? std::min(left, narrow ? kPartBytesNarrow : kPartBytesMax) : 0;
  }
  void OnAsked(uint64_t bytes, Clock::time_point now) {
    asked_at_[asked_++ % kPartsMax] = now;
    bytes_counted_ += bytes;
    if (bytes_counted_ < kCountedBytes) return;
    narrow_ = std::exchange(messages_counted_, 0) >= kMessagesMany;
    bytes_counted_ = 0;
  }
  // So many of those that were asked for first are here. Not all that is answered was asked for here.
  void OnAnswered(uint64_t answers, Clock::duration prompt, Clock::time_point now) {
    for (uint64_t left = std::min(answers, asked_ - answered_); left > 0; --left) {
      const bool late = now - asked_at_[answered_++ % kPartsMax] > prompt;
      if (late && MayAsk()) slices_alone_ = next_alone_;
      next_alone_ = late ? std::min(2 * next_alone_, kSlicesAloneMax) : std::max(next_alone_ / 2, kSlicesAloneMin);
    }
  }
  // A slice was copied by ourselves.
  void OnCopied() { slices_alone_ -= std::min(slices_alone_, 1u); }
  // A message goes ahead of a READ.
  void OnMessage() {
    if (++messages_counted_ >= kMessagesMany) narrow_ = true;
  }

 private:
  std::array<Clock::time_point, kPartsMax> asked_at_;  // Of those on their way; the places are counts modulo kPartsMax.
  uint64_t asked_ = 0;
  uint64_t answered_ = 0;
  uint64_t bytes_counted_ = 0;  // Asked for, since messages were counted from none.
  uint32_t messages_counted_ = 0;
  bool narrow_ = false;
  uint32_t slices_alone_ = 0;
  uint32_t next_alone_ = kSlicesAloneMin;
};

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_READ_ASKING_H_
