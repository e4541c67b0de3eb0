#include "rpc/attachment/arriving_attachment.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>

namespace verbena::rpc {
namespace {

class ArrivingAttachmentTest : public ::testing::Test {
 protected:
  static constexpr uint64_t kSize = 10;

  std::string Taken() {
    const absl::StatusOr<absl::Cord> part = attachment_.Take();
    return part.ok() ? std::string(*part) : std::string(part.status().message());
  }
  // Counts in woken_.
  bool Await() {
    return attachment_.Await([this] { ++woken_; });
  }

  ArrivingAttachment attachment_{kSize};
  int woken_ = 0;
};

TEST_F(ArrivingAttachmentTest, GivesWhatHasComeSinceAndThenTheEnd) {
  EXPECT_FALSE(attachment_.readable());
  EXPECT_EQ(attachment_.Take().status().code(), absl::StatusCode::kFailedPrecondition);
  attachment_.Add(absl::Cord("abc"));
  attachment_.Add(absl::Cord("def"));
  EXPECT_TRUE(attachment_.readable());
  EXPECT_EQ(Taken(), "abcdef");
  EXPECT_FALSE(attachment_.readable());
  attachment_.Add(absl::Cord("ghij"));
  EXPECT_EQ(Taken(), "ghij");
  EXPECT_TRUE(attachment_.readable());
  EXPECT_EQ(Taken(), "");
  EXPECT_EQ(Taken(), "") << "again";
}

TEST_F(ArrivingAttachmentTest, AnEmptyOneIsAtItsEnd) {
  const auto empty = ArrivingAttachment::Whole(absl::Cord());
  EXPECT_TRUE(empty->readable());
  EXPECT_EQ(*empty->Take(), "");
}

TEST_F(ArrivingAttachmentTest, WhatHadComeIsGivenBeforeTheFailure) {
  attachment_.Add(absl::Cord("abc"));
  attachment_.Fail(absl::DataLossError("damaged"));
  attachment_.Fail(absl::CancelledError("later"));
  attachment_.Add(absl::Cord("after it"));
  EXPECT_EQ(Taken(), "abc");
  EXPECT_EQ(Taken(), "damaged");
  EXPECT_EQ(Taken(), "damaged") << "again";
}

TEST_F(ArrivingAttachmentTest, AWholeOneDoesNotFail) {
  attachment_.Add(absl::Cord("0123456789"));
  attachment_.Fail(absl::CancelledError("nobody waits"));
  EXPECT_EQ(Taken(), "0123456789");
  EXPECT_EQ(Taken(), "");
}

TEST_F(ArrivingAttachmentTest, WakesOnceForEachAwait) {
  ASSERT_TRUE(Await());
  EXPECT_EQ(woken_, 0);
  attachment_.Add(absl::Cord("abc"));
  attachment_.Add(absl::Cord("def"));
  EXPECT_EQ(woken_, 1);
  ASSERT_TRUE(Await());
  EXPECT_EQ(woken_, 2) << "at once: nobody has taken it";
  Taken();
  ASSERT_TRUE(Await());
  EXPECT_EQ(woken_, 2);
  attachment_.Fail(absl::CancelledError("no more"));
  EXPECT_EQ(woken_, 3);
}

TEST_F(ArrivingAttachmentTest, ASecondWhoWaitsIsRefused) {
  ASSERT_TRUE(Await());
  EXPECT_FALSE(Await());
  attachment_.Add(absl::Cord("abc"));
  EXPECT_EQ(woken_, 1);
}

TEST_F(ArrivingAttachmentTest, WhoStopsWaitingIsNotWoken) {
  ASSERT_TRUE(Await());
  attachment_.StopAwaiting();
  attachment_.Add(absl::Cord("abc"));
  EXPECT_EQ(woken_, 0);
  EXPECT_EQ(Taken(), "abc");
}

TEST_F(ArrivingAttachmentTest, AWakerMayReadAndAwaitAgain) {
  std::string read;
  std::function<void()> read_all = [&] {
    const absl::StatusOr<absl::Cord> part = attachment_.Take();
    if (!part.ok() || part->empty()) return;
    read += std::string(*part) + "|";
    attachment_.Await(read_all);
  };
  attachment_.Await(read_all);
  for (const char* part : {"abc", "def", "ghij"}) attachment_.Add(absl::Cord(part));
  EXPECT_EQ(read, "abc|def|ghij|");
}

TEST_F(ArrivingAttachmentTest, AClosedOneHasNothingAndDropsWhoWaits) {
  const auto held = std::make_shared<int>();
  ASSERT_TRUE(attachment_.Await([held] { FAIL() << "nobody is there any more"; }));
  attachment_.Close();
  EXPECT_EQ(held.use_count(), 1);
  attachment_.Add(absl::Cord("0123456789"));
  EXPECT_EQ(attachment_.Take().status().code(), absl::StatusCode::kCancelled);
}

TEST_F(ArrivingAttachmentTest, WhoClosesItWaitsForAWakerThatRunsElsewhere) {
  std::promise<void> entered;
  std::atomic<bool> ran = false;
  attachment_.Await([&] {
    entered.set_value();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    ran = true;
  });
  std::thread loop([&] { attachment_.Add(absl::Cord("abc")); });
  entered.get_future().wait();
  attachment_.Close();
  EXPECT_TRUE(ran);
  loop.join();
}

// For whoever frees what it refers to then.
TEST_F(ArrivingAttachmentTest, WhoClosesItWaitsForWhatAWakerHolds) {
  struct Slow {
    ~Slow() {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      gone = true;
    }
    std::atomic<bool>& gone;
  };
  std::promise<void> entered;
  std::atomic<bool> gone = false;
  attachment_.Await([&entered, held = std::unique_ptr<Slow>(new Slow{gone})] { entered.set_value(); });
  std::thread loop([&] { attachment_.Add(absl::Cord("abc")); });
  entered.get_future().wait();
  attachment_.Close();
  EXPECT_TRUE(gone);
  loop.join();
}

TEST_F(ArrivingAttachmentTest, AWakerThatThrowsIsOver) {
  attachment_.Add(absl::Cord("abc"));
  EXPECT_THROW(attachment_.Await([] { throw std::runtime_error("no"); }), std::runtime_error);
  attachment_.Close();
}

TEST_F(ArrivingAttachmentTest, AWakerMayCloseIt) {
  attachment_.Await([&] { attachment_.Close(); });
  attachment_.Add(absl::Cord("abc"));
  EXPECT_EQ(attachment_.Take().status().code(), absl::StatusCode::kCancelled);
}

}  // namespace
}  // namespace verbena::rpc
