#include "transport/protocol/eager_sender.h"

#include <variant>

#include "gtest/gtest.h"

namespace verbena::protocol {
namespace {

class EagerSenderTest : public testing::Test {
 protected:
  Sent NextSent() { return std::get<Sent>(actions_.Pop()); }
  ActionQueue actions_;
  EagerSender sender_{&actions_};
};

TEST_F(EagerSenderTest, MessagesAreFramedInOrderOfSending) {
  const uint64_t first = sender_.Add({.message_kind = 3, .call_id = 7, .header_bytes = 5, .payload_bytes = 64});
  const uint64_t second = sender_.Add({});
  const PostEager frame = sender_.NextFrame();
  EXPECT_EQ(frame.send_id, first);
  EXPECT_EQ(frame.header.type, wire::FrameType::kEager);
  EXPECT_EQ(frame.header.message_kind, 3);
  EXPECT_EQ(frame.header.call_id, 7u);
  EXPECT_EQ(frame.header.call_header_bytes, 5);
  EXPECT_EQ(frame.header.payload_bytes, 64u);
  EXPECT_EQ(sender_.NextFrame().send_id, second);
  EXPECT_FALSE(sender_.HasFrame());
}

TEST_F(EagerSenderTest, ACompletedMessageIsDelivered) {
  const uint64_t id = sender_.Add({});
  sender_.NextFrame();
  sender_.EndPosted(id, SendOutcome::kDelivered);
  const Sent sent = NextSent();
  EXPECT_EQ(sent.send_id, id);
  EXPECT_EQ(sent.outcome, SendOutcome::kDelivered);
  EXPECT_TRUE(sender_.empty());
}

TEST_F(EagerSenderTest, AQueuedMessageCanBeCancelled) {
  const uint64_t id = sender_.Add({});
  sender_.Cancel(id);
  EXPECT_EQ(NextSent().outcome, SendOutcome::kNotSent);
  EXPECT_FALSE(sender_.HasFrame());
}

TEST_F(EagerSenderTest, APostedMessageCannot) {
  const uint64_t id = sender_.Add({});
  sender_.NextFrame();
  sender_.Cancel(id);
  EXPECT_TRUE(actions_.empty());
  sender_.EndPosted(id, SendOutcome::kDelivered);
  EXPECT_EQ(NextSent().outcome, SendOutcome::kDelivered);
}

TEST_F(EagerSenderTest, AMessageEndsOnce) {
  const uint64_t id = sender_.Add({});
  sender_.NextFrame();
  sender_.EndPosted(id, SendOutcome::kDelivered);
  NextSent();
  sender_.EndPosted(id, SendOutcome::kUnknown);
  EXPECT_TRUE(actions_.empty());
}

TEST_F(EagerSenderTest, AClosedConnectionLeavesQueuedMessagesNotSent) {
  const uint64_t posted = sender_.Add({});
  const uint64_t queued = sender_.Add({});
  sender_.NextFrame();
  sender_.Close();
  const Sent sent = NextSent();
  EXPECT_EQ(sent.send_id, queued);
  EXPECT_EQ(sent.outcome, SendOutcome::kNotSent);
  EXPECT_TRUE(actions_.empty());
  sender_.EndPosted(posted, SendOutcome::kUnknown);
  EXPECT_TRUE(sender_.empty());
}

}  // namespace
}  // namespace verbena::protocol
