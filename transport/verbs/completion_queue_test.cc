#include "transport/verbs/completion_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cerrno>

#include "transport/verbs/fake_verbs_api.h"

namespace verbena::verbs {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class CompletionQueueTest : public ::testing::Test {
 protected:
  // Raises `count` events for `queue` and reads them.
  void ReadEvents(CompletionChannel& channel, const CompletionQueue& queue, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) {
      fake_.completion_events.push_back(queue.get());
      EXPECT_EQ(*channel.NextEvent(), queue.get());
    }
  }

  FakeVerbs fake_;
  absl::StatusOr<Device> device_ = Device::Borrow(fake_.api(), fake_.context());
};

TEST_F(CompletionQueueTest, QueueGoesBeforeItsChannel) {
  {
    absl::StatusOr<CompletionChannel> channel = CompletionChannel::Create(*device_);
    ASSERT_TRUE(channel.ok()) << channel.status();
    absl::StatusOr<CompletionQueue> queue = CompletionQueue::Create(*device_, 16, &*channel, 0);
    ASSERT_TRUE(queue.ok()) << queue.status();
    EXPECT_EQ(queue->capacity(), 16);
  }
  EXPECT_THAT(fake_.destroyed(), ElementsAre("cq", "completion channel"));
}

TEST_F(CompletionQueueTest, ItsEventsAreOfTheVectorThatWasAskedFor) {
  for (int vector = 0; vector < device_->completion_vectors(); ++vector) {
    ASSERT_TRUE(CompletionQueue::Create(*device_, 16, nullptr, vector).ok());
    EXPECT_EQ(fake_.completion_vector, vector);
  }
}

TEST_F(CompletionQueueTest, PollTakesWhatIsThere) {
  absl::StatusOr<CompletionQueue> queue = CompletionQueue::Create(*device_, 16, nullptr, 0);
  fake_.completions.resize(3);
  std::array<ibv_wc, 2> taken;
  EXPECT_EQ(queue->Poll(absl::MakeSpan(taken)), 2);
  EXPECT_EQ(queue->Poll(absl::MakeSpan(taken)), 1);
  EXPECT_EQ(queue->Poll(absl::MakeSpan(taken)), 0);
}

TEST_F(CompletionQueueTest, OverrunIsPutInWords) {
  absl::StatusOr<CompletionQueue> queue = CompletionQueue::Create(*device_, 16, nullptr, 0);
  fake_.Fail("poll_cq", EIO);
  std::array<ibv_wc, 2> taken;
  int result = queue->Poll(absl::MakeSpan(taken));
  EXPECT_LT(result, 0);
  EXPECT_THAT(queue->PollError(result).message(), HasSubstr("the completion queue of 16 entries overran"));
}

TEST_F(CompletionQueueTest, NotificationIsRequestedAsAsked) {
  absl::StatusOr<CompletionQueue> queue = CompletionQueue::Create(*device_, 16, nullptr, 0);
  EXPECT_TRUE(queue->RequestNotify(false).ok());
  EXPECT_TRUE(queue->RequestNotify(true).ok());
  EXPECT_EQ(fake_.CountOf("req_notify_cq"), 1);
  EXPECT_EQ(fake_.CountOf("req_notify_cq solicited"), 1);
  fake_.Fail("req_notify_cq", EIO);
  EXPECT_THAT(queue->RequestNotify(false).message(), HasSubstr("ibv_req_notify_cq failed"));
}

TEST_F(CompletionQueueTest, NoEventIsNoError) {
  absl::StatusOr<CompletionChannel> channel = CompletionChannel::Create(*device_);
  absl::StatusOr<ibv_cq*> event = channel->NextEvent();
  ASSERT_TRUE(event.ok());
  EXPECT_EQ(*event, nullptr);
}

TEST_F(CompletionQueueTest, EventsAreAcknowledgedInBatches) {
  absl::StatusOr<CompletionChannel> channel = CompletionChannel::Create(*device_);
  absl::StatusOr<CompletionQueue> queue = CompletionQueue::Create(*device_, 16, &*channel, 0);
  ReadEvents(*channel, *queue, CompletionQueue::kUnacknowledgedEventsMax + 1);
  EXPECT_EQ(fake_.CountOf("ack_cq_events"), 1);
  EXPECT_EQ(fake_.acknowledged_completion_events, CompletionQueue::kUnacknowledgedEventsMax);
}

TEST_F(CompletionQueueTest, DestructionAcknowledgesTheRestFirst) {
  absl::StatusOr<CompletionChannel> channel = CompletionChannel::Create(*device_);
  {
    absl::StatusOr<CompletionQueue> queue = CompletionQueue::Create(*device_, 16, &*channel, 0);
    CompletionQueue moved = *std::move(queue);
    ReadEvents(*channel, moved, 3);
  }
  EXPECT_EQ(fake_.acknowledged_completion_events, 3u);
  EXPECT_THAT(fake_.destroyed(), ElementsAre("cq"));
}

TEST_F(CompletionQueueTest, AssignmentAcknowledgesAndDestroysWhatWasHeld) {
  absl::StatusOr<CompletionChannel> channel = CompletionChannel::Create(*device_);
  absl::StatusOr<CompletionQueue> first = CompletionQueue::Create(*device_, 16, &*channel, 0);
  absl::StatusOr<CompletionQueue> second = CompletionQueue::Create(*device_, 32, &*channel, 0);
  ReadEvents(*channel, *first, 1);
  *first = *std::move(second);
  EXPECT_EQ(fake_.acknowledged_completion_events, 1u);
  EXPECT_THAT(fake_.destroyed(), ElementsAre("cq"));
  EXPECT_EQ(first->capacity(), 32);
}

TEST_F(CompletionQueueTest, FailedCreationNamesTheSizes) {
  fake_.Fail("create_cq", EINVAL);
  EXPECT_EQ(
      CompletionQueue::Create(*device_, 16, nullptr, 5).status(),
      absl::InvalidArgumentError("ibv_create_cq failed: Invalid argument (fake0, 16 entries, completion vector 5)"));
  fake_.Fail("create_comp_channel", EMFILE);
  EXPECT_THAT(CompletionChannel::Create(*device_).status().message(), HasSubstr("Too many open files (fake0)"));
  EXPECT_THAT(fake_.destroyed(), IsEmpty());
}

TEST_F(CompletionQueueTest, ChannelThatCannotBeMadeNonBlockingIsDestroyed) {
  fake_.descriptor = -1;
  EXPECT_THAT(CompletionChannel::Create(*device_).status().message(), HasSubstr("fcntl failed"));
  EXPECT_THAT(fake_.destroyed(), ElementsAre("completion channel"));
}

TEST_F(CompletionQueueTest, FailureToReadEventsIsAnError) {
  absl::StatusOr<CompletionChannel> channel = CompletionChannel::Create(*device_);
  fake_.completion_events.push_back(nullptr);
  fake_.Fail("get_cq_event", EIO);
  EXPECT_THAT(channel->NextEvent().status().message(), HasSubstr("ibv_get_cq_event failed"));
}

}  // namespace
}  // namespace verbena::verbs
