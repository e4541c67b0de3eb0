// The receiving half of a stream: puts messages in order, hands each over once, keeps the sender within the window.
//
// Small messages arrive in order, large ones when they have been fetched; so a message may be known (announced), here,
// or missing while later ones are there. What the reader has taken opens the window again: TakeWindowUpdate says when
// the sender is worth telling, which is once for each half of the window, and not before it has used half of what it
// has.
//
// `Message` is what the driver keeps of one until it is taken. Owner: one end of a call. Thread: its event loop's.
// Pure.

#ifndef VERBENA_RPC_CORE_STREAM_RECEIVER_H_
#define VERBENA_RPC_CORE_STREAM_RECEIVER_H_

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "rpc/core/stream_sender.h"

namespace verbena::rpc {

template <typename Message>
class StreamReceiver {
 public:
  // `window_bytes` bounds what is here unread, but for the last message. At least kStreamWindowInitial.
  explicit StreamReceiver(uint64_t window_bytes) : window_(window_bytes) {
    assert(window_bytes >= kStreamWindowInitial);
  }

  // A message is to be fetched; OnMessage follows, or the stream is over. InvalidArgument, in words: the peer sends a
  // number twice, past its own end, or more than the window allows.
  absl::Status OnAnnounced(uint64_t number, uint64_t payload_bytes) {
    if (absl::Status judged = Judge(number, payload_bytes); !judged.ok()) return judged;
    Charge(number, payload_bytes);
    SlotOf(number).state = State::kFetching;
    ++fetching_;
    return absl::OkStatus();
  }

  // A message is here, announced or not. Errors: as above.
  absl::Status OnMessage(uint64_t number, uint64_t payload_bytes, Message message) {
    const bool announced = number >= taken_ && number - taken_ < slots_.size() &&
                           SlotOf(number).state == State::kFetching &&
                           SlotOf(number).charge == payload_bytes + kStreamMessageOverhead;
    if (announced) {
      --fetching_;
    } else {
      if (absl::Status judged = Judge(number, payload_bytes); !judged.ok()) return judged;
      Charge(number, payload_bytes);
    }
    Slot& slot = SlotOf(number);
    slot.state = State::kHere;
    slot.message.emplace(std::move(message));
    return absl::OkStatus();
  }

  // In place of OnMessage and TakeNext, for a reader who waits: true if it is the next message, and nothing else is
  // known, and within the window, of which messages that were deferred take their part. Else nothing has happened.
  bool TakeAtOnce(uint64_t number, uint64_t payload_bytes) {
    if (number != taken_ || !slots_.empty() || end_ == taken_ || unread_ >= window_) return false;
    consumed_ += payload_bytes + kStreamMessageOverhead;
    ++taken_;
    return true;
  }

  // What was taken last, of so many bytes, is on its way to the reader: it counts as unread until he says so.
  void Defer(uint64_t payload_bytes) {
    consumed_ -= payload_bytes + kStreamMessageOverhead;
    unread_ += payload_bytes + kStreamMessageOverhead;
  }
  // The reader has so much of what was deferred, each message's overhead included.
  void OnRead(uint64_t charge) {
    consumed_ += charge;
    unread_ -= charge;
  }

  // The peer sends no more than `count` messages in all. Errors: it has sent more, or said something else before.
  absl::Status OnEnd(uint64_t count) {
    if (end_.has_value() || count < taken_ + slots_.size()) {
      return absl::InvalidArgumentError(absl::StrCat("the stream ends after ", count, " messages; ", known(),
                                                     " were seen",
                                                     end_.has_value() ? ", and it had ended before" : ""));
    }
    end_ = count;
    return absl::OkStatus();
  }

  bool has_next() const { return !slots_.empty() && slots_.front().state == State::kHere; }
  // The next message in order. Before: has_next().
  Message TakeNext() {
    assert(has_next());
    Slot& first = slots_.front();
    Message message = *std::move(first.message);
    consumed_ += first.charge;
    unread_ -= first.charge;
    slots_.pop_front();
    ++taken_;
    return message;
  }

  // What is here unread goes: nobody wants it any more, and nothing follows.
  void Drop() {
    slots_.clear();
    fetching_ = 0;
  }

  bool begun() const { return known() > 0 || ended(); }  // Something of the stream has been seen.
  bool ended() const { return end_.has_value(); }
  bool at_end() const { return end_ == taken_; }  // The last message was taken.
  // Every message up to the end is here or was taken.
  bool complete() const {
    return end_ == known() && fetching_ == 0 &&
           std::all_of(slots_.begin(), slots_.end(), [](const Slot& slot) { return slot.state == State::kHere; });
  }
  bool fetching() const { return fetching_ > 0; }

  // The limit to tell the sender, if it is worth a message now.
  std::optional<uint64_t> TakeWindowUpdate() {
    const uint64_t limit = consumed_ + window_;
    if (end_.has_value() || limit < granted_ + window_ / 2 || consumed_ + unread_ < granted_ / 2) return std::nullopt;
    granted_ = limit;
    return limit;
  }

 private:
  enum class State {
    kMissing,   // Later ones are known. Ended by OnAnnounced, OnMessage.
    kFetching,  // Ended by OnMessage.
    kHere,      // Ended by TakeNext.
  };
  struct Slot {
    State state = State::kMissing;
    uint64_t charge = 0;
    std::optional<Message> message;
  };

  uint64_t known() const { return taken_ + slots_.size(); }  // One past the highest number that was seen.
  Slot& SlotOf(uint64_t number) { return slots_[number - taken_]; }

  absl::Status Judge(uint64_t number, uint64_t payload_bytes) {
    if (number < taken_ || (number < known() && SlotOf(number).state != State::kMissing)) {
      return absl::InvalidArgumentError(absl::StrCat("message ", number, " of the stream was sent twice"));
    }
    if (end_.has_value() && number >= *end_) {
      return absl::InvalidArgumentError(absl::StrCat("message ", number, " of a stream that ended after ", *end_));
    }
    // Of what is unread, all but the last message was within the limit when the sender sent that one, and none is
    // smaller than its overhead.
    const uint64_t charge = payload_bytes + kStreamMessageOverhead;
    const uint64_t last = number >= known() ? charge : slots_.back().charge;
    if (unread_ + charge - last >= window_ || number - taken_ > window_ / kStreamMessageOverhead) {
      return absl::InvalidArgumentError(
          absl::StrCat("message ", number, " of the stream is past the window of ", window_, " bytes"));
    }
    return absl::OkStatus();
  }

  void Charge(uint64_t number, uint64_t payload_bytes) {
    while (number >= known()) slots_.emplace_back();
    SlotOf(number).charge = payload_bytes + kStreamMessageOverhead;
    unread_ += SlotOf(number).charge;
  }

  // Constant after construction.
  const uint64_t window_;

  std::deque<Slot> slots_;  // From number taken_ on; the last one is not missing.
  uint64_t taken_ = 0;
  uint64_t fetching_ = 0;
  std::optional<uint64_t> end_;
  // In charged bytes.
  uint64_t consumed_ = 0;
  uint64_t unread_ = 0;
  uint64_t granted_ = kStreamWindowInitial;
};

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_CORE_STREAM_RECEIVER_H_
