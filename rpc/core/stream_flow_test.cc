// The two halves of a stream, apart and together: a simulated wire between them reorders what may be reordered.

#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <random>
#include <string>
#include <vector>

#include "rpc/core/stream_receiver.h"
#include "rpc/core/stream_sender.h"

namespace verbena::rpc {
namespace {

constexpr uint64_t kWindow = 128 << 10;
using Receiver = StreamReceiver<uint64_t>;

TEST(StreamSender, SendsUntilTheInitialWindowIsUsedUp) {
  StreamSender sender;
  const uint64_t payload = kStreamWindowInitial / 4 - kStreamMessageOverhead;
  for (uint64_t number = 0; number < 4; ++number) {
    ASSERT_TRUE(sender.may_send());
    EXPECT_EQ(sender.Send(payload), number);
  }
  EXPECT_FALSE(sender.may_send());
  sender.OnWindow(kStreamWindowInitial + 1);
  EXPECT_TRUE(sender.may_send());
}

TEST(StreamSender, SendsOneMessageOfAnySizeInTheLastByteOfTheWindow) {
  StreamSender sender;
  sender.Send(kStreamWindowInitial - kStreamMessageOverhead - 1);
  ASSERT_TRUE(sender.may_send());
  sender.Send(uint64_t{1} << 40);
  EXPECT_FALSE(sender.may_send());
}

TEST(StreamSender, HasItsWindowTakenBackByNobody) {
  StreamSender sender;
  sender.OnWindow(1);
  EXPECT_TRUE(sender.may_send());
}

TEST(StreamReceiver, HandsOverInOrderWhatArrivesOutOfOrder) {
  Receiver receiver(kWindow);
  ASSERT_TRUE(receiver.OnMessage(1, 10, 101).ok());
  EXPECT_FALSE(receiver.has_next());
  ASSERT_TRUE(receiver.OnAnnounced(0, 5000).ok());
  EXPECT_FALSE(receiver.has_next());
  EXPECT_TRUE(receiver.fetching());
  ASSERT_TRUE(receiver.OnMessage(0, 5000, 100).ok());
  EXPECT_FALSE(receiver.fetching());
  ASSERT_TRUE(receiver.has_next());
  EXPECT_EQ(receiver.TakeNext(), 100u);
  EXPECT_EQ(receiver.TakeNext(), 101u);
  EXPECT_FALSE(receiver.has_next());
}

TEST(StreamReceiver, HandsOverAtOnceOnlyTheNextMessageWithNothingElseKnown) {
  Receiver receiver(kWindow);
  EXPECT_FALSE(receiver.TakeAtOnce(1, 10)) << "0 is missing";
  ASSERT_TRUE(receiver.TakeAtOnce(0, 10));
  EXPECT_FALSE(receiver.TakeAtOnce(0, 10)) << "it was taken";
  EXPECT_TRUE(receiver.begun());
  ASSERT_TRUE(receiver.OnAnnounced(1, 5000).ok());
  EXPECT_FALSE(receiver.TakeAtOnce(1, 5000)) << "it is fetched";
  EXPECT_FALSE(receiver.TakeAtOnce(2, 10)) << "it is behind what is fetched";
  ASSERT_TRUE(receiver.OnMessage(1, 5000, 101).ok());
  EXPECT_EQ(receiver.TakeNext(), 101u);
  ASSERT_TRUE(receiver.OnEnd(3).ok());
  ASSERT_TRUE(receiver.TakeAtOnce(2, 10));
  EXPECT_TRUE(receiver.at_end());
  EXPECT_FALSE(receiver.TakeAtOnce(3, 10)) << "the stream has ended";
}

TEST(StreamReceiver, OpensTheWindowAlsoByWhatWasHandedOverAtOnce) {
  Receiver receiver(kWindow);
  uint64_t taken_bytes = 0;
  for (uint64_t number = 0; taken_bytes < kWindow / 2; ++number) {
    ASSERT_TRUE(receiver.TakeAtOnce(number, 1000));
    taken_bytes += 1000 + kStreamMessageOverhead;
  }
  EXPECT_EQ(receiver.TakeWindowUpdate(), taken_bytes + kWindow);
}

TEST(StreamReceiver, OpensTheWindowByWhatIsOnItsWayToTheReaderWhenHeHasIt) {
  Receiver receiver(kWindow);
  constexpr uint64_t kCharge = kStreamWindowInitial + kStreamMessageOverhead;
  ASSERT_TRUE(receiver.TakeAtOnce(0, kStreamWindowInitial));
  receiver.Defer(kStreamWindowInitial);
  EXPECT_EQ(receiver.TakeWindowUpdate(), kWindow);  // It is larger than the initial one.
  EXPECT_FALSE(receiver.TakeWindowUpdate().has_value());
  receiver.OnRead(kCharge);
  EXPECT_EQ(receiver.TakeWindowUpdate(), kWindow + kCharge);
}

TEST(StreamReceiver, CountsWhatIsOnItsWayToTheReaderAsUnread) {
  Receiver receiver(kWindow);
  ASSERT_TRUE(receiver.TakeAtOnce(0, kWindow - kStreamMessageOverhead));
  receiver.Defer(kWindow - kStreamMessageOverhead);
  EXPECT_FALSE(receiver.TakeAtOnce(1, 10));
  EXPECT_FALSE(receiver.OnMessage(1, 10, 0).ok());
  receiver.OnRead(kWindow);
  EXPECT_TRUE(receiver.OnMessage(1, 10, 0).ok());
}

TEST(StreamReceiver, EndsWhenTheLastMessageWasTaken) {
  Receiver receiver(kWindow);
  ASSERT_TRUE(receiver.OnEnd(2).ok());
  ASSERT_TRUE(receiver.OnMessage(1, 10, 1).ok());
  EXPECT_FALSE(receiver.complete());
  ASSERT_TRUE(receiver.OnMessage(0, 10, 0).ok());
  EXPECT_TRUE(receiver.complete());
  receiver.TakeNext();
  EXPECT_FALSE(receiver.at_end());
  receiver.TakeNext();
  EXPECT_TRUE(receiver.at_end());
}

TEST(StreamReceiver, RefusesANumberThatWasThereBefore) {
  Receiver receiver(kWindow);
  ASSERT_TRUE(receiver.OnMessage(0, 10, 0).ok());
  EXPECT_EQ(receiver.OnMessage(0, 10, 0).message(), "message 0 of the stream was sent twice");
  receiver.TakeNext();
  EXPECT_EQ(receiver.OnAnnounced(0, 10).message(), "message 0 of the stream was sent twice");
  ASSERT_TRUE(receiver.OnAnnounced(1, 10).ok());
  EXPECT_TRUE(absl::IsInvalidArgument(receiver.OnAnnounced(1, 10)));
  EXPECT_TRUE(absl::IsInvalidArgument(receiver.OnMessage(1, 11, 0)));  // Of another length than announced.
}

TEST(StreamReceiver, RefusesWhatComesAfterTheEnd) {
  Receiver receiver(kWindow);
  ASSERT_TRUE(receiver.OnEnd(1).ok());
  EXPECT_EQ(receiver.OnMessage(1, 10, 0).message(), "message 1 of a stream that ended after 1");
  EXPECT_TRUE(absl::IsInvalidArgument(receiver.OnEnd(1)));
}

TEST(StreamReceiver, RefusesAnEndBeforeWhatWasSeen) {
  Receiver receiver(kWindow);
  ASSERT_TRUE(receiver.OnMessage(3, 10, 0).ok());
  EXPECT_TRUE(absl::IsInvalidArgument(receiver.OnEnd(3)));
  EXPECT_TRUE(receiver.OnEnd(4).ok());
}

TEST(StreamReceiver, RefusesWhatIsPastTheWindow) {
  Receiver receiver(kWindow);
  ASSERT_TRUE(receiver.OnMessage(0, kWindow, 0).ok());
  EXPECT_EQ(receiver.OnMessage(1, 0, 0).message(), "message 1 of the stream is past the window of 131072 bytes");
  receiver.TakeNext();
  EXPECT_TRUE(receiver.OnMessage(1, 0, 0).ok());
}

TEST(StreamReceiver, RefusesANumberThatNoWindowCouldReach) {
  Receiver receiver(kWindow);
  EXPECT_TRUE(absl::IsInvalidArgument(receiver.OnMessage(kWindow / kStreamMessageOverhead + 1, 0, 0)));
  EXPECT_TRUE(absl::IsInvalidArgument(receiver.OnAnnounced(~uint64_t{0}, 0)));
}

TEST(StreamReceiver, SaysNothingOfAWindowThatIsHardlyUsed) {
  Receiver receiver(kWindow);
  EXPECT_FALSE(receiver.TakeWindowUpdate().has_value());
  ASSERT_TRUE(receiver.OnMessage(0, 100, 0).ok());
  receiver.TakeNext();
  EXPECT_FALSE(receiver.TakeWindowUpdate().has_value());
}

TEST(StreamReceiver, OpensTheWindowByWhatWasTaken) {
  Receiver receiver(kWindow);
  ASSERT_TRUE(receiver.OnMessage(0, kStreamWindowInitial, 0).ok());
  EXPECT_EQ(receiver.TakeWindowUpdate(), kWindow);  // It is larger than the initial one.
  EXPECT_FALSE(receiver.TakeWindowUpdate().has_value());
  receiver.TakeNext();
  EXPECT_EQ(receiver.TakeWindowUpdate(), kWindow + kStreamWindowInitial + kStreamMessageOverhead);
}

TEST(StreamReceiver, SaysNothingToASenderThatHasEnded) {
  Receiver receiver(kWindow);
  ASSERT_TRUE(receiver.OnMessage(0, kStreamWindowInitial, 0).ok());
  ASSERT_TRUE(receiver.OnEnd(1).ok());
  EXPECT_FALSE(receiver.TakeWindowUpdate().has_value());
}

// One stream over a wire on which large messages are announced and arrive late, in any order.
class Simulation {
 public:
  explicit Simulation(uint32_t seed) : random_(seed), messages_(20 + random_() % 300), defers_(random_() % 2 == 0) {}

  // Steps until all was read; fails past what any schedule needs.
  void Run() {
    for (int step = 0; read_ < messages_ || !receiver_.at_end(); ++step) {
      ASSERT_LT(step, 200'000) << "stuck: " << sender_.count() << " sent, " << read_ << " read";
      Step();
      if (::testing::Test::HasFatalFailure()) return;
      ASSERT_LE(unread_, kWindow + largest_ + kStreamMessageOverhead);
    }
    EXPECT_TRUE(receiver_.complete());
    EXPECT_LE(updates_, sent_bytes_ / (kWindow / 2) + 1);
  }

 private:
  struct Large {
    uint64_t number;
    uint64_t bytes;
  };

  void Step() {
    switch (random_() % 5) {
      case 0:
        return Send();
      case 1:
        return Fetch();
      case 2:
        return defers_ ? Take() : Read();
      case 3:
        return ReadWhatWasTaken();
      default:
        return Tell();
    }
  }

  void Send() {
    if (sender_.count() == messages_) {
      if (!receiver_.ended()) {
        ASSERT_TRUE(receiver_.OnEnd(messages_).ok());
      }
      return;
    }
    if (!sender_.may_send()) return;
    const uint64_t bytes = random_() % 8 == 0 ? random_() % (2 * kWindow) : random_() % 2000;
    const uint64_t number = sender_.Send(bytes);
    largest_ = std::max(largest_, bytes);
    sent_bytes_ += bytes + kStreamMessageOverhead;
    unread_ += bytes + kStreamMessageOverhead;
    sizes_.push_back(bytes);
    if (bytes > 1000) {
      large_.push_back({number, bytes});
      ASSERT_TRUE(receiver_.OnAnnounced(number, bytes).ok());
    } else {
      ASSERT_TRUE(receiver_.OnMessage(number, bytes, number).ok());
    }
  }

  void Fetch() {
    if (large_.empty()) return;
    const size_t index = random_() % large_.size();
    const Large fetched = large_[index];
    large_.erase(large_.begin() + static_cast<ptrdiff_t>(index));
    ASSERT_TRUE(receiver_.OnMessage(fetched.number, fetched.bytes, fetched.number).ok());
  }

  void Read() {
    if (!receiver_.has_next()) return;
    ASSERT_EQ(receiver_.TakeNext(), read_);
    unread_ -= sizes_[read_] + kStreamMessageOverhead;
    ++read_;
  }

  // For a reader elsewhere, who says what he has read now and then.
  void Take() {
    if (!receiver_.has_next()) return;
    ASSERT_EQ(receiver_.TakeNext(), read_ + taken_.size());
    taken_.push_back(sizes_[read_ + taken_.size()]);
    receiver_.Defer(taken_.back());
  }

  void ReadWhatWasTaken() {
    if (taken_.empty()) return;
    const uint64_t charge = taken_.front() + kStreamMessageOverhead;
    taken_.pop_front();
    unread_ -= charge;
    ++read_;
    unreported_ += charge;
    if (unreported_ < kWindow / 4) return;
    receiver_.OnRead(unreported_);
    unreported_ = 0;
  }

  // Updates arrive late and in any order.
  void Tell() {
    if (const std::optional<uint64_t> limit = receiver_.TakeWindowUpdate()) {
      ++updates_;
      told_.push_back(*limit);
    }
    if (told_.empty() || random_() % 2 == 0) return;
    const size_t index = random_() % told_.size();
    sender_.OnWindow(told_[index]);
    told_.erase(told_.begin() + static_cast<ptrdiff_t>(index));
  }

  std::mt19937 random_;
  const uint64_t messages_;
  const bool defers_;
  StreamSender sender_;
  Receiver receiver_{kWindow};
  std::deque<Large> large_;
  std::vector<uint64_t> told_;
  std::vector<uint64_t> sizes_;
  std::deque<uint64_t> taken_;  // Sizes of what is on its way to the reader.
  uint64_t unreported_ = 0;
  uint64_t read_ = 0;
  uint64_t largest_ = 0;
  uint64_t unread_ = 0;
  uint64_t sent_bytes_ = 0;
  uint64_t updates_ = 0;
};

TEST(StreamFlow, DeliversEveryMessageOnceInOrderWithinTheWindow) {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    Simulation(seed).Run();
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace verbena::rpc
