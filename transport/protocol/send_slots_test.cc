#include "transport/protocol/send_slots.h"

#include "gtest/gtest.h"

namespace verbena::protocol {
namespace {

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
  EXPECT_EQ(slots.Complete(), 11u);
  EXPECT_EQ(slots.Complete(), SendSlots::kNoSend);
  EXPECT_EQ(slots.Complete(), 12u);
  EXPECT_EQ(slots.posted(), 0u);
}

}  // namespace
}  // namespace verbena::protocol
