#include "examples/mailbox/mailbox.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "rpc/coroutine/block_on.h"

namespace verbena::examples {
namespace {

class MailboxTest : public testing::Test {
 protected:
  // All that comes until it is closed.
  std::vector<int> ReadAll() {
    std::vector<int> read;
    const auto reading = [&]() -> Task<absl::Status> {
      while (const std::optional<int> message = co_await mailbox_->Next()) read.push_back(*message);
      co_return absl::OkStatus();
    };
    EXPECT_EQ(BlockOn(*loop_, reading()), absl::OkStatus());
    return read;
  }

  const std::unique_ptr<EventLoop> loop_ = EventLoop::Create({}).value();
  const std::shared_ptr<Mailbox<int>> mailbox_ = std::make_shared<Mailbox<int>>(*loop_, 3);
};

TEST_F(MailboxTest, WhatIsThereWhenItIsClosedIsReadInOrder) {
  for (const int message : {1, 2, 3}) mailbox_->Put(message);
  mailbox_->Close(absl::UnavailableError("shutting down"));
  EXPECT_EQ(ReadAll(), (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(mailbox_->end(), absl::UnavailableError("shutting down"));
}

TEST_F(MailboxTest, OneMoreThanItHoldsClosesIt) {
  for (const int message : {1, 2, 3, 4, 5}) mailbox_->Put(message);
  EXPECT_EQ(ReadAll(), (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(mailbox_->end(), absl::ResourceExhaustedError("more than 3 messages were not read in time"));
}

TEST_F(MailboxTest, NothingFollowsItsEndAndTheFirstEndHolds) {
  mailbox_->Close(absl::OkStatus());
  mailbox_->Close(absl::UnavailableError("shutting down"));
  mailbox_->Put(1);
  EXPECT_EQ(ReadAll(), std::vector<int>());
  EXPECT_EQ(mailbox_->end(), absl::OkStatus());
}

TEST_F(MailboxTest, ReaderThatWaitsGoesOnWithWhatAnotherThreadPuts) {
  constexpr int kMessages = 1000;
  const auto roomy = std::make_shared<Mailbox<int>>(*loop_, kMessages);
  std::thread putting([&] {
    for (int message = 0; message < kMessages; ++message) roomy->Put(message);
    roomy->Close(absl::OkStatus());
  });
  int read = 0;
  const auto reading = [&]() -> Task<absl::Status> {
    while (const std::optional<int> message = co_await roomy->Next()) EXPECT_EQ(*message, read++);
    co_return absl::OkStatus();
  };
  EXPECT_EQ(BlockOn(*loop_, reading()), absl::OkStatus());
  putting.join();
  EXPECT_EQ(read, kMessages);
}

}  // namespace
}  // namespace verbena::examples
