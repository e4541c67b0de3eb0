#include "transport/host_lookups.h"

#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "gtest/gtest.h"

namespace verbena::transport {
namespace {

constexpr absl::Duration kLong = absl::Hours(1);

class HostLookupsTest : public testing::Test {
 protected:
  ~HostLookupsTest() override { Let(); }

  // Does not return before it is let.
  absl::StatusOr<HostAddresses> LookUp() {
    ++looked_up_;
    let_.wait(false);
    return HostAddresses(2);
  }
  void Let() {
    let_ = true;
    let_.notify_all();
  }
  // What becomes of it, when the loop has run.
  std::shared_ptr<std::optional<absl::Status>> Ask(absl::Duration timeout) {
    auto outcome = std::make_shared<std::optional<absl::Status>>();
    lookups_->LookUp("db", timeout, [outcome](const absl::StatusOr<HostAddresses>& addresses) {
      EXPECT_FALSE(outcome->has_value());
      EXPECT_EQ(addresses.value_or(HostAddresses(2)).size(), 2u);
      outcome->emplace(addresses.status());
    });
    return outcome;
  }

  std::atomic<bool> let_ = false;
  std::atomic<size_t> looked_up_ = 0;
  std::unique_ptr<HostResolver> resolver_ =
      std::make_unique<HostResolver>([this](const std::string&) { return LookUp(); });
  std::unique_ptr<EventLoop> loop_ = *EventLoop::Create({.wait = WaitPolicy::kEvent});
  std::optional<HostLookups> lookups_{std::in_place, loop_.get(), resolver_.get()};
};

TEST_F(HostLookupsTest, TheLoopGoesOnUntilTheAnswerComes) {
  const auto outcome = Ask(kLong);
  bool went_on = false;
  loop_->Post([&went_on] { went_on = true; });
  loop_->RunUntil([&went_on] { return went_on; });
  EXPECT_FALSE(outcome->has_value());
  Let();
  loop_->RunUntil([&outcome] { return outcome->has_value(); });
  EXPECT_TRUE((*outcome)->ok()) << **outcome;
}

TEST_F(HostLookupsTest, TimeIsUpInWords) {
  const auto outcome = Ask(absl::Milliseconds(1));
  loop_->RunUntil([&outcome] { return outcome->has_value(); });
  EXPECT_EQ(**outcome, absl::DeadlineExceededError("the look-up of host \"db\" took longer than 1ms"));
}

TEST_F(HostLookupsTest, WhatWasGivenUpIsNotLookedUpASecondTimeMeanwhile) {
  const auto given_up = Ask(absl::Milliseconds(1));
  loop_->RunUntil([&given_up] { return given_up->has_value(); });
  const auto again = Ask(kLong);
  Let();
  loop_->RunUntil([&again] { return again->has_value(); });
  EXPECT_TRUE((*again)->ok()) << **again;
  EXPECT_EQ(looked_up_, 1u);
  const auto later = Ask(kLong);
  loop_->RunUntil([&later] { return later->has_value(); });
  EXPECT_EQ(looked_up_, 2u);
}

TEST_F(HostLookupsTest, WhatTheLoopDoesNotLiveToSeeIsDropped) {
  const auto with_time = Ask(kLong);
  const auto outcome = Ask(kLong);
  lookups_.reset();
  loop_.reset();
  Let();
  resolver_.reset();  // Has answered.
  EXPECT_FALSE(outcome->has_value());
  EXPECT_FALSE(with_time->has_value());
  EXPECT_EQ(outcome.use_count(), 1);
}

}  // namespace
}  // namespace verbena::transport
