// Whether, and how, the bytes of a READ that we could copy by ourselves are asked of the peer instead.
//
// Between processes our own copy is a system call that looks up every page: a peer that polls has written as much into
// its response ring meanwhile, and that is in the caches of both. So such a peer is asked: for short READs whole, for a
// long one in parts, of which there are few on their way, so that messages go in between. While many do, fewer and
// shorter ones follow.
//
// But a peer that has something else to do, a handler perhaps, answers when it polls again. Who was late is not asked
// again for a time that is many times as long as it took, so that waiting for peers is a small part of all time.
//
// Pure. Owner: a requester. Thread: its lock.

#ifndef VERBENA_TRANSPORT_SOFT_READ_ASKING_H_
#define VERBENA_TRANSPORT_SOFT_READ_ASKING_H_

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <utility>

#include "transport/soft/byte_ring.h"
#include "transport/soft/shared_layout.h"

namespace verbena::soft {

class ReadAsking {
 public:
  using Clock = std::chrono::steady_clock;

  // Short READs are asked for whole, and so many at a time, since they are soon over, and there may be many.
  static constexpr uint64_t kShortBytes = 64 * 1024;
  static constexpr uint64_t kShortMax = 16;
  // Parts of long ones on their way at most: each one record, or two if the ring ends in it, and all together in the
  // response ring, so that what is behind them in the request ring waits for nobody to take them out.
  static constexpr uint64_t kPartsMax = 4;
  static constexpr uint64_t kPartBytesMax = kRingBytes / kPartsMax - 2 * kCacheLineBytes;
  // The same of a long READ while many messages go ahead of it; and how many that are, for how much that is asked for:
  // more than the ends of large calls are, less than small calls one after another.
  static constexpr uint64_t kPartsMaxNarrow = 2;
  static constexpr uint64_t kPartBytesNarrow = 8 * 1024;
  static constexpr uint32_t kMessagesMany = 8;
  static constexpr uint64_t kCountedBytes = 512 * 1024;
  // What a peer may take to answer a part. One that polls takes tens of microseconds for all that are on their way; one
  // that handles many calls between two polls is worth waiting for longer: with 16 calls of 256 KiB on their way a
  // quarter fewer were made when this was 50.
  static constexpr std::chrono::microseconds kPrompt{300};
  // It was late only if we looked so often meanwhile: else it was we who did something else.
  static constexpr uint32_t kLooksMin = 64;
  // For how many times as long as it took it is not asked again.
  static constexpr int kPauseFactor = 16;

  bool MayAsk(Clock::time_point now) const { return now >= paused_until_; }

  // How much to ask for of a READ, `left` of whose `length` bytes nobody was asked for yet; 0: not before an answer.
  uint64_t NextPart(uint64_t length, uint64_t left) const {
    const uint64_t on_their_way = asked_ - answered_;
    if (length <= kShortBytes) return on_their_way < kShortMax ? left : 0;
    const uint64_t parts_max = narrow_ ? kPartsMaxNarrow : kPartsMax;
    return on_their_way < parts_max ? std::min(left, narrow_ ? kPartBytesNarrow : EqualPart(length)) : 0;
  }
  // `looks`: a count of those of our own.
  void OnAsked(uint64_t bytes, Clock::time_point now, uint32_t looks) {
    parts_[asked_++ % kShortMax] = {.asked_at = now, .looks = looks};
    bytes_counted_ += bytes;
    if (bytes_counted_ < kCountedBytes) return;
    narrow_ = std::exchange(messages_counted_, 0) >= kMessagesMany;
    bytes_counted_ = 0;
  }
  // So many of those that were asked for first are here. Not all that is answered was asked for here.
  void OnAnswered(uint64_t answers, Clock::duration prompt, Clock::time_point now, uint32_t looks) {
    for (uint64_t left = std::min(answers, asked_ - answered_); left > 0; --left) {
      const Part& part = parts_[answered_++ % kShortMax];
      const Clock::duration taken = now - part.asked_at;
      const bool late = taken > prompt && looks - part.looks >= kLooksMin;
      if (late) paused_until_ = std::max(paused_until_, now + kPauseFactor * taken);
    }
  }

  // A message goes ahead of a READ.
  void OnMessage(Clock::time_point now) {
    message_at_ = now;
    if (++messages_counted_ >= kMessagesMany) narrow_ = true;
  }
  // The last message that went ahead will be accepted soon, or waits for a receive.
  bool MessageMayBeAcceptedSoon(Clock::time_point now) const { return now - message_at_ <= kPrompt; }

 private:
  // Some parts of the same length, rather than a few bytes in the last one.
  static constexpr uint64_t EqualPart(uint64_t length) {
    const uint64_t parts = (length + kPartBytesMax - 1) / kPartBytesMax;
    return RecordBytes((length + parts - 1) / parts);
  }

  struct Part {
    Clock::time_point asked_at;
    uint32_t looks;
  };

  std::array<Part, kShortMax> parts_;  // Those on their way; the places are counts modulo kShortMax.
  uint64_t asked_ = 0;
  uint64_t answered_ = 0;
  Clock::time_point paused_until_{};
  Clock::time_point message_at_{};
  uint64_t bytes_counted_ = 0;  // Asked for, since messages were counted from none.
  uint32_t messages_counted_ = 0;
  bool narrow_ = false;
};

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_READ_ASKING_H_
