#include "transport/verbs/queue_pair.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "transport/verbs/cm_event.h"
#include "transport/verbs/fake_verbs_api.h"

namespace verbena::verbs {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class QueuePairTest : public ::testing::Test {
 protected:
  QueuePairOptions Options() {
    return {.send_completions = &*completions_,
            .receive_completions = &*completions_,
            .shared_receives = &*receives_,
            .sends_max = 64,
            .inline_bytes_max = 256};
  }

  FakeVerbs fake_;
  absl::StatusOr<Device> device_ = Device::Borrow(fake_.api(), fake_.context());
  absl::StatusOr<ProtectionDomain> domain_ = ProtectionDomain::Create(*device_);
  absl::StatusOr<CompletionQueue> completions_ = CompletionQueue::Create(*device_, 16, nullptr, 0);
  absl::StatusOr<SharedReceiveQueue> receives_ = SharedReceiveQueue::Create(*domain_, 32, 1);
  absl::StatusOr<CmEventChannel> channel_ = CmEventChannel::Create(fake_.api());
  absl::StatusOr<ConnectionId> id_ = ConnectionId::Create(*channel_);
};

TEST_F(QueuePairTest, InlineWishIsHalvedUntilTheDeviceAgrees) {
  absl::StatusOr<QueuePair> pair = QueuePair::Create(*id_, *domain_, Options());
  ASSERT_TRUE(pair.ok()) << pair.status();
  EXPECT_EQ(pair->inline_bytes_max(), 64u);
  EXPECT_EQ(pair->sends_max(), 64u);
  EXPECT_EQ(pair->number(), 17u);
  EXPECT_EQ(fake_.CountOf("cm_create_qp"), 3);
}

TEST_F(QueuePairTest, DeviceWithoutInlineIsUsedWithout) {
  fake_.inline_bytes_max = 0;
  absl::StatusOr<QueuePair> pair = QueuePair::Create(*id_, *domain_, Options());
  ASSERT_TRUE(pair.ok()) << pair.status();
  EXPECT_EQ(pair->inline_bytes_max(), 0u);
}

TEST_F(QueuePairTest, InvalidForAnotherReasonGivesUp) {
  fake_.Fail("cm_create_qp", EINVAL, 100);
  EXPECT_TRUE(absl::IsInvalidArgument(QueuePair::Create(*id_, *domain_, Options()).status()));
}

TEST_F(QueuePairTest, WantOfMemoryNamesTheSizesAndTheLimit) {
  fake_.Fail("cm_create_qp", ENOMEM);
  absl::Status error = QueuePair::Create(*id_, *domain_, Options()).status();
  EXPECT_THAT(error.message(), HasSubstr("rdma_create_qp failed: Cannot allocate memory (64 sends of 1 segments"));
  EXPECT_THAT(error.message(), HasSubstr("locked memory"));
}

TEST_F(QueuePairTest, IdWithoutDeviceIsRefusedInWords) {
  id_->get()->verbs = nullptr;
  EXPECT_TRUE(absl::IsFailedPrecondition(QueuePair::Create(*id_, *domain_, Options()).status()));
}

TEST_F(QueuePairTest, GoesOnceAndBeforeItsId) {
  {
    absl::StatusOr<ConnectionId> id = ConnectionId::Create(*channel_);
    absl::StatusOr<QueuePair> pair = QueuePair::Create(*id, *domain_, Options());
    QueuePair moved = *std::move(pair);
    ConnectionId moved_id = *std::move(id);
    EXPECT_EQ(moved.number(), 17u);
    QueuePair last = std::move(moved);
  }
  EXPECT_THAT(fake_.destroyed(), ElementsAre("qp", "id"));
}

TEST_F(QueuePairTest, PostingFailsInWordsAndSaysWhere) {
  absl::StatusOr<QueuePair> pair = QueuePair::Create(*id_, *domain_, Options());
  ibv_send_wr send = {};
  ibv_send_wr* first_unposted = nullptr;
  EXPECT_TRUE(pair->PostSends(&send, &first_unposted).ok());
  fake_.Fail("post_send", ENOMEM);
  EXPECT_EQ(pair->PostSends(&send, &first_unposted),
            absl::ResourceExhaustedError("ibv_post_send failed: Cannot allocate memory (queue pair 17)"));
  EXPECT_EQ(first_unposted, &send);
}

TEST_F(QueuePairTest, OwnReceiveQueueTakesReceives) {
  QueuePairOptions options = Options();
  options.shared_receives = nullptr;
  options.receives_max = 8;
  absl::StatusOr<QueuePair> pair = QueuePair::Create(*id_, *domain_, options);
  ibv_recv_wr receive = {};
  ibv_recv_wr* first_unposted = nullptr;
  EXPECT_TRUE(pair->PostReceives(&receive, &first_unposted).ok());
  fake_.Fail("post_recv", EINVAL);
  EXPECT_THAT(pair->PostReceives(&receive, &first_unposted).message(), HasSubstr("ibv_post_recv failed"));
}

TEST_F(QueuePairTest, ModifyAndQueryReachTheDevice) {
  absl::StatusOr<QueuePair> pair = QueuePair::Create(*id_, *domain_, Options());
  EXPECT_TRUE(pair->SetReceiverNotReadyTimer(12).ok());
  EXPECT_EQ(fake_.modified_queue_pair.min_rnr_timer, 12);
  EXPECT_EQ(fake_.modified_queue_pair_mask, IBV_QP_MIN_RNR_TIMER);
  EXPECT_TRUE(pair->ModifyToError().ok());
  EXPECT_EQ(fake_.modified_queue_pair.qp_state, IBV_QPS_ERR);
  EXPECT_EQ(*pair->QueryState(), IBV_QPS_RTS);
}

TEST_F(QueuePairTest, ModifyAndQueryFailInWords) {
  absl::StatusOr<QueuePair> pair = QueuePair::Create(*id_, *domain_, Options());
  fake_.Fail("modify_qp", EINVAL);
  EXPECT_THAT(pair->ModifyToError().message(), HasSubstr("ibv_modify_qp failed: Invalid argument (queue pair 17)"));
  fake_.Fail("query_qp", EIO);
  EXPECT_THAT(pair->QueryState().status().message(), HasSubstr("ibv_query_qp failed"));
}

TEST_F(QueuePairTest, SharedReceiveQueuePostsAndSetsItsLimit) {
  fake_.granted_receives = 63;
  absl::StatusOr<SharedReceiveQueue> receives = SharedReceiveQueue::Create(*domain_, 32, 1);
  EXPECT_EQ(receives->receives_max(), 63u);
  ibv_recv_wr receive = {};
  ibv_recv_wr* first_unposted = nullptr;
  EXPECT_TRUE(receives->PostReceives(&receive, &first_unposted).ok());
  EXPECT_TRUE(receives->SetLimit(8).ok());
  EXPECT_EQ(fake_.srq_limit, 8u);
}

TEST_F(QueuePairTest, SharedReceiveQueueFailsInWords) {
  ibv_recv_wr receive = {};
  ibv_recv_wr* first_unposted = nullptr;
  fake_.Fail("post_srq_recv", ENOMEM);
  EXPECT_EQ(receives_->PostReceives(&receive, &first_unposted),
            absl::ResourceExhaustedError("ibv_post_srq_recv failed: Cannot allocate memory (room for 32 receives)"));
  fake_.Fail("modify_srq", EINVAL);
  EXPECT_THAT(receives_->SetLimit(99).message(), HasSubstr("limit 99 of 32"));
  fake_.Fail("create_srq", EINVAL);
  EXPECT_THAT(SharedReceiveQueue::Create(*domain_, 5, 2).status().message(), HasSubstr("5 receives of 2 segments"));
}

}  // namespace
}  // namespace verbena::verbs
