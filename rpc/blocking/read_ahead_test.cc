// A thread that reads ahead of itself, and the loop beside it.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "rpc/blocking/testing/blocking_fixture.h"

namespace verbena::rpc {
namespace {

using ReadAheadTest = BlockingFixture;

TEST_F(ReadAheadTest, WhatIsThereIsReadWithoutTheLoop) {
  OnLoop([this] { Deliver("0"); });
  Beside([this] { EXPECT_EQ(Next(), "0"); });
  OnLoop([this] {
    for (int i = 1; i < 100; ++i) Deliver(absl::StrCat(i));
    DeliverEnd();
  });
  const size_t posted = loop_->posted();
  WithoutLoop([this] {
    for (int i = 1; i < 100; ++i) EXPECT_EQ(Next(), absl::StrCat(i));
    EXPECT_EQ(Next(), "-");
    EXPECT_EQ(Next(), "-");
  });
  EXPECT_EQ(loop_->posted(), posted);
  EXPECT_FALSE(stream_->unreadable());
}

TEST_F(ReadAheadTest, AllThatTheWindowHoldsIsReadWithoutTheLoop) {
  OnLoop([this] { Deliver("first"); });
  Beside([this] { EXPECT_EQ(Next(), "first"); });
  static constexpr size_t kBytes = 1000;
  const uint64_t messages = StreamOptions().window_bytes / (kBytes + 100);
  OnLoop([this, messages] {
    for (uint64_t i = 0; i < messages; ++i) Deliver(std::string(kBytes, '.'));
  });
  WithoutLoop([this, messages] {
    for (uint64_t i = 0; i < messages; ++i) ASSERT_EQ(Next().size(), kBytes) << i;
  });
}

TEST_F(ReadAheadTest, ReaderSleepsUntilAMessageComes) {
  std::thread reader([this] { EXPECT_EQ(Next(), "late"); });
  while (loop_->posted() < 2) std::this_thread::yield();  // It has begun.
  OnLoop([this] { Deliver("late"); });
  loop_->RunUntilIdle();
  reader.join();
}

TEST_F(ReadAheadTest, AttachmentsComeWithTheirMessageAndAreClearedWhereThereIsNone) {
  const std::string large(10000, 'x');
  OnLoop([this, &large] {
    Deliver("a", "beside a");
    Deliver("b");
    Deliver(large);
    Deliver("");
  });
  Beside([this, &large] {
    EXPECT_EQ(Next(), "a");
    EXPECT_EQ(attachment_, "beside a");
    EXPECT_EQ(Next(), "b");
    EXPECT_EQ(attachment_, "");
    EXPECT_EQ(Next(), large);
    EXPECT_EQ(attachment_, "");
    EXPECT_EQ(Next(), "");
  });
}

TEST_F(ReadAheadTest, ReaderWhoFallsBehindHoldsUpTheSender) {
  static constexpr size_t kBytes = 1000;
  OnLoop([this] { Deliver(std::string(kBytes, '.')); });
  Beside([this] { EXPECT_EQ(Next().size(), kBytes); });
  const uint64_t messages = StreamOptions().window_bytes / (kBytes + 100);
  OnLoop([this, messages] {
    for (uint64_t i = 1; i < messages; ++i) Deliver(std::string(kBytes, '.'));
  });
  EXPECT_LE(wire_.window, StreamOptions().window_bytes + kBytes + 100) << "only the first has been read";
  Beside([this, messages] {
    for (uint64_t i = 1; i < messages; ++i) ASSERT_EQ(Next().size(), kBytes) << i;
  });
  EXPECT_GE(wire_.window, StreamOptions().window_bytes + StreamOptions().window_bytes / 2);
}

TEST_F(ReadAheadTest, SenderWhoDoesNotKeepToTheWindowIsRefused) {
  const std::string body = TextOf(std::string(1000, '.')).SerializeAsString();
  OnLoop([this, &body] { DeliverBody(body); });
  Beside([this] { EXPECT_NE(Next(), "-"); });
  const uint64_t window = StreamOptions().window_bytes;
  OnLoop([&] {
    absl::Status taken;
    uint64_t bytes = 0;
    for (; taken.ok() && bytes < 2 * window; bytes += body.size()) taken = TryDeliver(body);
    EXPECT_TRUE(absl::IsInvalidArgument(taken)) << taken;
    EXPECT_LE(bytes, window + body.size());
  });
}

TEST_F(ReadAheadTest, LargeMessagesAreReadAheadAndCountAsUnread) {
  static constexpr size_t kBytes = 100000;
  const std::string large(kBytes, 'x');
  OnLoop([this] { Deliver("small"); });
  Beside([this] { EXPECT_EQ(Next(), "small"); });
  OnLoop([this, &large] {
    for (int i = 0; i < 2; ++i) Deliver(large);
  });
  EXPECT_LE(wire_.window, StreamOptions().window_bytes + 100) << "only the small one has been read";
  const size_t posted = loop_->posted();
  Beside([this, &large] {
    for (int i = 0; i < 2; ++i) EXPECT_EQ(Next(), large);
  });
  EXPECT_EQ(loop_->posted(), posted + 3) << "that each was read, and the thread's end: no turn to bring the second";
}

TEST_F(ReadAheadTest, WhatIsDroppedIsNotKeptForAReaderWhoDoesNotCome) {
  OnLoop([this] { Deliver("small"); });
  Beside([this] { EXPECT_EQ(Next(), "small"); });
  OnLoop([this] { Deliver("a", "beside a"); });
  const std::weak_ptr<const std::string> memory = delivered_memory_;
  OnLoop([this] {
    for (int i = 0; i < 100; ++i) Deliver(std::string(1000, '.'));
  });
  EXPECT_FALSE(memory.expired());
  Close();
  EXPECT_TRUE(memory.expired());
}

TEST_F(ReadAheadTest, NothingIsReadThatWasDropped) {
  OnLoop([this] {
    for (int i = 0; i < 3; ++i) Deliver(absl::StrCat(i));
  });
  Beside([this] { EXPECT_EQ(Next(), "0"); });
  Close();
  WithoutLoop([this] { EXPECT_EQ(Next(), "-"); });
}

TEST_F(ReadAheadTest, MessageThatIsNoneEndsTheCall) {
  OnLoop([this] {
    Deliver("good");
    DeliverBody("\xff\xff\xff");
    Deliver("never seen", "nor what is beside it");
  });
  Beside([this] {
    EXPECT_EQ(Next(), "good");
    EXPECT_EQ(Next(), "-");
    EXPECT_EQ(Next(), "-");
  });
  EXPECT_TRUE(stream_->unreadable());
  EXPECT_TRUE(absl::IsInvalidArgument(wire_.failure)) << wire_.failure;
  EXPECT_TRUE(delivered_memory_.expired()) << "what follows it is not kept";
}

TEST_F(ReadAheadTest, EndOfTheCallWakesTheReader) {
  std::thread reader([this] { EXPECT_EQ(Next(), "-"); });
  while (loop_->posted() < 2) std::this_thread::yield();  // It has begun.
  Close();
  reader.join();
}

TEST_F(ReadAheadTest, MessageThatIsNoneIsNoneToTheObserverEither) {
  const auto observer = std::make_shared<SeenMessages>();
  OnLoop([this, &observer] {
    stream_->set_observer(observer);
    Deliver("good");
    DeliverBody("\xff\xff\xff");
  });
  Beside([this] {
    EXPECT_EQ(Next(), "good");
    EXPECT_EQ(Next(), "-");
  });
  EXPECT_TRUE(absl::IsInvalidArgument(wire_.failure)) << wire_.failure;
  EXPECT_EQ(observer->received, std::vector<std::string>{"good"});
}

// The loop reads what is left when the call has ended well.
TEST_F(ReadAheadTest, MessageThatIsNoneIsKnownWhenTheCallHasEndedBefore) {
  OnLoop([this] {
    stream_->set_observer(std::make_shared<SeenMessages>());
    DeliverBody("\xff\xff\xff");
    DeliverEnd();
    stream_->Close(MessageStream::Unread::kKeep);
  });
  Beside([this] { EXPECT_EQ(Next(), "-"); });
  EXPECT_TRUE(stream_->unreadable());
}

}  // namespace
}  // namespace verbena::rpc
