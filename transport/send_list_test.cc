#include "transport/send_list.h"

#include <vector>

#include "gtest/gtest.h"

namespace verbena::transport {
namespace {

class SendListTest : public testing::Test {
 protected:
  void QueueSend() { list_.QueueSend(++work_, bytes_, sizeof(bytes_), 0, false); }
  void QueueRead() { list_.QueueRead(++work_, bytes_, sizeof(bytes_), 0, 0, 0); }

  // By work request, in order: whether it asks for a completion. Empties the list.
  std::vector<bool> Signaled() {
    std::vector<bool> signaled;
    for (const ibv_send_wr* request = list_.Discard(); request != nullptr; request = request->next) {
      signaled.push_back((request->send_flags & IBV_SEND_SIGNALED) != 0);
    }
    return signaled;
  }

  SendList list_;
  uint64_t work_ = 0;
  char bytes_[8] = {};
};

TEST_F(SendListTest, OfSendsInARowTheLastAsksForACompletion) {
  for (int i = 0; i < 3; ++i) QueueSend();
  EXPECT_EQ(Signaled(), std::vector<bool>({false, false, true}));
}

TEST_F(SendListTest, EachSendWakesThePeer) {
  for (int i = 0; i < 3; ++i) QueueSend();
  for (const ibv_send_wr* request = list_.Discard(); request != nullptr; request = request->next) {
    EXPECT_NE(request->send_flags & IBV_SEND_SOLICITED, 0u);
  }
}

TEST_F(SendListTest, EachListHasACompletion) {
  QueueSend();
  EXPECT_EQ(Signaled(), std::vector<bool>({true}));
  QueueSend();
  EXPECT_EQ(Signaled(), std::vector<bool>({true}));
}

TEST_F(SendListTest, OfSendsThatNobodyWaitsForNoneNeedAsk) {
  QueueSend();
  QueueSend();
  EXPECT_TRUE(list_.covers());
  ASSERT_TRUE(list_.LeaveUnsignaled());
  EXPECT_EQ(Signaled(), std::vector<bool>({false, false}));
}

TEST_F(SendListTest, OneThatIsAwaitedAsksForAllAndTheNextListIsNotAwaited) {
  QueueSend();
  list_.Await();
  QueueSend();
  EXPECT_FALSE(list_.LeaveUnsignaled());
  EXPECT_EQ(Signaled(), std::vector<bool>({false, true}));
  QueueSend();
  EXPECT_TRUE(list_.LeaveUnsignaled());
}

TEST_F(SendListTest, BesideOtherWorkSendsAsk) {
  QueueSend();
  QueueRead();
  EXPECT_FALSE(list_.LeaveUnsignaled());
  EXPECT_TRUE(list_.covers());
  EXPECT_EQ(Signaled(), std::vector<bool>({true, true}));
  list_.QueueBind(++work_);
  QueueSend();
  EXPECT_FALSE(list_.LeaveUnsignaled());
  EXPECT_EQ(Signaled(), std::vector<bool>({false, true}));
}

TEST_F(SendListTest, AnAnnouncementsCompletionSaysThatItsWindowsWereBound) {
  QueueSend();
  list_.QueueBind(++work_);
  list_.QueueBind(++work_);
  EXPECT_TRUE(list_.covers());
  QueueSend();
  EXPECT_EQ(Signaled(), std::vector<bool>({false, false, false, true}));
}

TEST_F(SendListTest, ABindThatNothingFollowsAsks) {
  QueueSend();
  list_.QueueBind(++work_);
  EXPECT_TRUE(list_.covers());
  EXPECT_EQ(Signaled(), std::vector<bool>({false, true}));
}

TEST_F(SendListTest, AReadsCompletionSaysNothingOfSendsBeforeIt) {
  QueueRead();
  EXPECT_FALSE(list_.covers());
  QueueSend();
  EXPECT_TRUE(list_.covers());
  Signaled();
  EXPECT_FALSE(list_.covers());
}

TEST_F(SendListTest, ASendDoesNotWaitForAReadBehindIt) {
  QueueSend();
  QueueSend();
  QueueRead();
  QueueSend();
  EXPECT_EQ(Signaled(), std::vector<bool>({false, true, true, true}));
}

TEST_F(SendListTest, AnInvalidationDoesNotWaitForASendBehindIt) {
  QueueSend();
  list_.QueueInvalidate(++work_).opcode = IBV_WR_LOCAL_INV;
  QueueSend();
  EXPECT_EQ(Signaled(), std::vector<bool>({true, true, true}));
}

TEST_F(SendListTest, ABindHasNothingOfTheInvalidationThatStoodThereBefore) {
  list_.QueueInvalidate(++work_).invalidate_rkey = 7;
  Signaled();
  list_.QueueBind(++work_);
  EXPECT_EQ(list_.Discard()->imm_data, 0u);
}

TEST_F(SendListTest, ARequestIsNothingOfWhatStoodThereBefore) {
  QueueRead();
  Signaled();
  QueueSend();
  const ibv_send_wr* const request = list_.Discard();
  EXPECT_EQ(request->opcode, IBV_WR_SEND);
  EXPECT_EQ(request->send_flags, static_cast<unsigned>(IBV_SEND_SIGNALED | IBV_SEND_SOLICITED));
  EXPECT_EQ(request->num_sge, 1);
  EXPECT_EQ(request->next, nullptr);
}

TEST_F(SendListTest, WhatJoinsIsBehindTheSendQueuedLastAndPartOfIt) {
  char bytes[32] = {};
  list_.QueueSend(1, bytes, 8, 0, false);
  EXPECT_EQ(list_.room(), 0u);
  list_.LeaveRoom(24);
  EXPECT_EQ(list_.room(), 24u);
  EXPECT_EQ(list_.end(), reinterpret_cast<std::byte*>(bytes) + 8);
  list_.Join(16);
  EXPECT_EQ(list_.room(), 8u);
  EXPECT_EQ(list_.end(), reinterpret_cast<std::byte*>(bytes) + 24);
  const ibv_send_wr* const request = list_.Discard();
  EXPECT_EQ(request->sg_list->length, 24u);
  EXPECT_EQ(request->next, nullptr);
}

TEST_F(SendListTest, NothingJoinsASendWithSomethingBehindIt) {
  QueueSend();
  list_.LeaveRoom(8);
  QueueRead();
  EXPECT_EQ(list_.room(), 0u);
  QueueSend();
  list_.LeaveRoom(8);
  Signaled();
  EXPECT_EQ(list_.room(), 0u);
}

// They are posted after so many messages, whether these share SENDs or not: the first do not wait for all the others.
TEST_F(SendListTest, WhatJoinsTakesAPlaceInTheList) {
  QueueSend();
  list_.LeaveRoom(8);
  for (size_t i = 1; i < SendList::kCapacity; ++i) {
    EXPECT_FALSE(list_.full());
    list_.Join(0);
  }
  EXPECT_TRUE(list_.full());
  EXPECT_EQ(list_.room(), 0u);
  Signaled();
  EXPECT_FALSE(list_.full());
}

}  // namespace
}  // namespace verbena::transport
