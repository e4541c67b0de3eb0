// What a connection machine does with messages that are too long, or too many.

#include <optional>

#include "gtest/gtest.h"
#include "transport/protocol/machine_fixture.h"

namespace verbena::protocol {
namespace {

using SendLimitsTest = MachineFixture;

TEST_F(SendLimitsTest, AMessageBeyondTheLimitIsNotSent) {
  machine_->Send({.payload_bytes = config_.message_bytes_max + 1});
  EXPECT_EQ(Find<Sent>()->outcome, SendOutcome::kNotSent);
}

TEST_F(SendLimitsTest, ASendBeyondThePendingLimitIsNotSent) {
  config_.pending_sends_max = 2;
  Restart(/*peer_credits=*/2);
  for (int i = 0; i < 3; ++i) machine_->Send({.payload_bytes = 64, .refusable = true});
  EXPECT_EQ(Find<Sent>()->outcome, SendOutcome::kNotSent);
  EXPECT_EQ(Find<Sent>(), std::nullopt);
}

// Who drops it in silence leaves somebody waiting for ever.
TEST_F(SendLimitsTest, ASendThatMustNotBeLostHasTwiceTheRoomAndThenEndsTheConnection) {
  config_.pending_sends_max = 2;
  Restart(/*peer_credits=*/2);
  for (int i = 0; i < 4; ++i) SendEager();
  EXPECT_EQ(Find<Sent>(), std::nullopt);
  SendEager();
  EXPECT_EQ(Find<Sent>()->outcome, SendOutcome::kNotSent);
  now_ += config_.goodbye_timeout;  // There is no credit to say it with.
  machine_->OnDeadline(now_);
  CompleteSends();
  const absl::Status end = EndOf<Disconnect>();
  EXPECT_EQ(end.code(), absl::StatusCode::kResourceExhausted) << end;
  EXPECT_EQ(end.message(),
            "4 messages wait to be sent and reported, and one more that must not be lost: the peer takes too few");
}

}  // namespace
}  // namespace verbena::protocol
