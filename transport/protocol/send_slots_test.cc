#include "transport/protocol/send_slots.h"

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace verbena::protocol {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<uint64_t> CompletedBy(SendSlots& slots) {
  std::vector<uint64_t> send_ids;
  slots.Complete([&send_ids](uint64_t send_id) { send_ids.push_back(send_id); });
  return send_ids;
}

TEST(SendSlots, MessagesLeaveTheLastSlotsToControlFrames) {
  SendSlots slots(4);
  slots.Post(11);
  slots.Post(12);
  EXPECT_FALSE(slots.HasRoomForMessage());
  EXPECT_TRUE(slots.HasRoomForControl());
  slots.Post(SendSlots::kNoSend);
  slots.Post(SendSlots::kNoSend);
  EXPECT_FALSE(slots.HasRoomForControl());
}

TEST(SendSlots, CompletionsComeInOrderOfPosting) {
  SendSlots slots(4);
  slots.Post(11);
  slots.Post(SendSlots::kNoSend);
  slots.Post(12);
  EXPECT_THAT(CompletedBy(slots), ElementsAre(11u));
  EXPECT_THAT(CompletedBy(slots), IsEmpty());
  EXPECT_THAT(CompletedBy(slots), ElementsAre(12u));
  EXPECT_EQ(slots.posted(), 0u);
}

TEST(SendSlots, SoManyFramesMakeASendAndNoMore) {
  SendSlots slots(4);
  slots.Post(1);
  for (uint64_t send_id = 2; send_id <= wire::kFramesPerSendMax; ++send_id) {
    ASSERT_TRUE(slots.MayJoin());
    slots.Join(send_id);
  }
  EXPECT_FALSE(slots.MayJoin());
  slots.Post(100);
  EXPECT_TRUE(slots.MayJoin());
}

TEST(SendSlots, FramesThatJoinTakeNoSlotAndCompleteWithTheOneInFront) {
  SendSlots slots(4);
  slots.Post(11);
  slots.Join(12);
  slots.Join(13);
  slots.Post(14);
  EXPECT_EQ(slots.posted(), 2u);
  EXPECT_TRUE(slots.HasRoomForControl());
  std::vector<uint64_t> all;
  slots.ForEach([&all](uint64_t send_id) { all.push_back(send_id); });
  EXPECT_THAT(all, ElementsAre(11u, 12u, 13u, 14u));
  EXPECT_THAT(CompletedBy(slots), ElementsAre(11u, 12u, 13u));
  EXPECT_THAT(CompletedBy(slots), ElementsAre(14u));
  EXPECT_EQ(slots.posted(), 0u);
}

TEST(SendSlots, OfASendsFramesOnlyThoseThatSomebodyWaitsForAreTold) {
  SendSlots slots(4);
  slots.Post(SendSlots::kNoSend);
  slots.Join(11);
  slots.Join(SendSlots::kNoSend);
  slots.Post(12);
  EXPECT_THAT(CompletedBy(slots), ElementsAre(11u));
  EXPECT_THAT(CompletedBy(slots), ElementsAre(12u));
}

}  // namespace
}  // namespace verbena::protocol
