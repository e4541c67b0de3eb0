#include "transport/protocol/drain.h"

#include "gtest/gtest.h"

namespace verbena::protocol {
namespace {

TEST(Drain, TheFrameWaitsForTheQueuedMessages) {
  Drain drain(absl::Seconds(30));
  EXPECT_FALSE(drain.FrameDue(/*messages_queued=*/false));
  drain.Request(absl::UnixEpoch());
  EXPECT_FALSE(drain.FrameDue(/*messages_queued=*/true));
  EXPECT_TRUE(drain.FrameDue(/*messages_queued=*/false));
  drain.OnPosted();
  EXPECT_FALSE(drain.FrameDue(/*messages_queued=*/false));
}

TEST(Drain, BothSidesMustHaveSaidIt) {
  Drain drain(absl::Seconds(30));
  drain.Request(absl::UnixEpoch());
  drain.OnPosted();
  EXPECT_FALSE(drain.agreed());
  drain.OnPeerDrain();
  EXPECT_TRUE(drain.agreed());
}

TEST(Drain, TheFirstRequestSetsTheDeadline) {
  Drain drain(absl::Seconds(30));
  EXPECT_EQ(drain.Deadline(), absl::InfiniteFuture());
  drain.Request(absl::UnixEpoch());
  drain.Request(absl::UnixEpoch() + absl::Seconds(20));
  EXPECT_EQ(drain.Deadline(), absl::UnixEpoch() + absl::Seconds(30));
}

}  // namespace
}  // namespace verbena::protocol
