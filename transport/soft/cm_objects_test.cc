// Objects that belong to an id: queue pairs, completion queues, shared receive queues.

#include <cerrno>

#include "gtest/gtest.h"
#include "transport/soft/cm_api.h"
#include "transport/soft/fake_engine.h"
#include "transport/soft/testing/cm_party.h"

namespace verbena::soft {
namespace {

class CmObjects : public ::testing::Test {
 protected:
  void SetUp() override {
    sockaddr_in address = Address4("127.0.0.1", 0);
    ASSERT_EQ(CmBindAddr(id_, reinterpret_cast<sockaddr*>(&address)), 0);
    before_ = FakeObjects();
  }

  static ibv_qp_init_attr Wish(uint32_t sends, uint32_t receives) {
    ibv_qp_init_attr attributes = {};
    attributes.qp_type = IBV_QPT_RC;
    attributes.cap.max_send_wr = sends;
    attributes.cap.max_recv_wr = receives;
    return attributes;
  }

  CmParty party_;
  rdma_cm_id* id_ = party_.NewId();
  int before_ = 0;
};

TEST_F(CmObjects, BoundIdHasTheDefaultDomainAndTheWildcardHasNone) {
  EXPECT_EQ(id_->pd, FakeDomain());
  rdma_cm_id* wildcard = party_.NewId();
  ASSERT_EQ(CmListen(wildcard, 0), 0);
  EXPECT_EQ(wildcard->pd, nullptr);
}

TEST_F(CmObjects, MissingCompletionQueuesAreMadeAndDestroyed) {
  ibv_qp_init_attr attributes = Wish(10, 20);
  ASSERT_EQ(CmCreateQp(id_, nullptr, &attributes), 0);
  EXPECT_EQ(FakeObjects(), before_ + 4) << "two queues, two channels";
  EXPECT_EQ(attributes.send_cq, id_->send_cq);
  EXPECT_EQ(attributes.recv_cq, id_->recv_cq);
  EXPECT_EQ(id_->send_cq->cqe, 10);
  EXPECT_EQ(id_->recv_cq->cqe, 20);
  EXPECT_EQ(id_->send_cq->channel, id_->send_cq_channel);
  EXPECT_EQ(id_->recv_cq->cq_context, id_);
  CmDestroyQp(id_);
  EXPECT_EQ(id_->send_cq, nullptr);
  EXPECT_EQ(id_->recv_cq_channel, nullptr);
  EXPECT_EQ(FakeObjects(), before_);
}

TEST_F(CmObjects, GivenCompletionQueuesStayTheirOwners) {
  ibv_qp_init_attr attributes = FakeQueuePairAttributes();
  ASSERT_EQ(CmCreateQp(id_, FakeDomain(), &attributes), 0);
  EXPECT_EQ(id_->send_cq, nullptr);
  EXPECT_EQ(FakeObjects(), before_);
  CmDestroyQp(id_);
  EXPECT_EQ(FakeObjects(), before_);
}

TEST_F(CmObjects, SecondQueuePairIsInvalid) {
  ibv_qp_init_attr attributes = FakeQueuePairAttributes();
  ASSERT_EQ(CmCreateQp(id_, nullptr, &attributes), 0);
  EXPECT_EQ(CmCreateQp(id_, nullptr, &attributes), -1);
  EXPECT_EQ(errno, EINVAL);
}

TEST_F(CmObjects, QueuePairOfAnIdWithoutDeviceIsInvalid) {
  ibv_qp_init_attr attributes = FakeQueuePairAttributes();
  EXPECT_EQ(CmCreateQp(party_.NewId(), FakeDomain(), &attributes), -1);
  EXPECT_EQ(errno, EINVAL);
}

TEST_F(CmObjects, QueuePairDestroyedAsAVerbsObjectIsForgotten) {
  ibv_qp_init_attr attributes = FakeQueuePairAttributes();
  ASSERT_EQ(CmCreateQp(id_, nullptr, &attributes), 0);
  uint32_t number = id_->qp->qp_num;
  ibv_qp* queue_pair = id_->qp;
  CmForgetQueuePair(queue_pair);
  EXPECT_EQ(id_->qp, nullptr);
  CmForgetQueuePair(queue_pair);
  CmDestroyQp(id_);
  EXPECT_FALSE(FakeQueuePairOf(number).destroyed) << "that is its destroyer's part";
  DestroyFakeQueuePair(queue_pair);
}

TEST_F(CmObjects, SharedReceiveQueueOfTheIdServesItsQueuePair) {
  ibv_srq_init_attr wish = {};
  wish.attr.max_wr = 16;
  ASSERT_EQ(CmCreateSrq(id_, nullptr, &wish), 0);
  ASSERT_NE(id_->srq, nullptr);
  EXPECT_EQ(id_->srq->pd, id_->pd);
  ibv_qp_init_attr attributes = FakeQueuePairAttributes();
  ASSERT_EQ(CmCreateQp(id_, nullptr, &attributes), 0);
  EXPECT_EQ(id_->qp->srq, id_->srq);
  CmDestroyQp(id_);
  CmDestroySrq(id_);
  EXPECT_EQ(id_->srq, nullptr);
  EXPECT_EQ(FakeObjects(), before_);
}

TEST_F(CmObjects, ExtendedSharedReceiveQueueIsTheBasicOneOrUnsupported) {
  ibv_srq_init_attr_ex wish = {};
  EXPECT_EQ(CmCreateSrqEx(id_, &wish), -1);
  EXPECT_EQ(errno, EINVAL) << "without a type";
  wish.comp_mask = IBV_SRQ_INIT_ATTR_TYPE;
  wish.srq_type = IBV_SRQT_XRC;
  EXPECT_EQ(CmCreateSrqEx(id_, &wish), -1);
  EXPECT_EQ(errno, EOPNOTSUPP);
  wish.srq_type = IBV_SRQT_BASIC;
  ASSERT_EQ(CmCreateSrqEx(id_, &wish), 0);
  EXPECT_EQ(wish.pd, id_->pd);
  CmDestroySrq(id_);
}

TEST_F(CmObjects, DeviceWithoutThemRefusesMulticastAndEce) {
  sockaddr_in group = Address4("239.0.0.1", 0);
  EXPECT_EQ(CmJoinMulticast(id_, reinterpret_cast<sockaddr*>(&group), nullptr), -1);
  EXPECT_EQ(errno, EOPNOTSUPP);
  EXPECT_EQ(CmLeaveMulticast(id_, reinterpret_cast<sockaddr*>(&group)), -1);
  EXPECT_EQ(errno, EADDRNOTAVAIL) << "not joined";
  ibv_ece ece = {.vendor_id = 1, .options = 1, .comp_mask = 0};
  EXPECT_EQ(CmSetLocalEce(id_, &ece), -1);
  EXPECT_EQ(errno, EOPNOTSUPP);
  EXPECT_EQ(CmGetRemoteEce(id_, &ece), 0);
  EXPECT_EQ(ece.vendor_id, 0u);
}

TEST_F(CmObjects, DeviceFaultsReachEveryBoundId) {
  party_.NewId();
  CmRaiseDeviceRemoval();
  SeenEvent removal = party_.Next();
  EXPECT_EQ(removal.type, RDMA_CM_EVENT_DEVICE_REMOVAL);
  EXPECT_EQ(removal.id, id_);
  EXPECT_TRUE(party_.Quiet()) << "the other id is bound to no device";
  CmRaiseAddressChange();
  EXPECT_EQ(party_.Next().type, RDMA_CM_EVENT_ADDR_CHANGE);
}

}  // namespace
}  // namespace verbena::soft
