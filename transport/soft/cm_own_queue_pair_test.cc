// Connections whose queue pairs the application makes and connects itself.

#include <arpa/inet.h>

#include <cerrno>
#include <cstring>

#include "gtest/gtest.h"
#include "transport/soft/cm_api.h"
#include "transport/soft/testing/cm_party.h"

namespace verbena::soft {
namespace {

constexpr uint32_t kActiveNumber = 0x123456;
constexpr uint32_t kPassiveNumber = 0x654321;

class CmOwnQueuePair : public ::testing::Test {
 protected:
  void SetUp() override {
    listener_ = passive_.Listen();
    client_ = active_.Resolve(PortOf(listener_));
    CmDestroyQp(client_);
    rdma_conn_param parameters = Parameters(kActiveNumber);
    ASSERT_EQ(CmConnect(client_, &parameters), 0);
    SeenEvent request = passive_.Next();
    ASSERT_EQ(request.type, RDMA_CM_EVENT_CONNECT_REQUEST);
    EXPECT_EQ(request.parameters.qp_num, kActiveNumber);
    server_ = request.id;
  }

  static rdma_conn_param Parameters(uint32_t number) {
    rdma_conn_param parameters = {};
    parameters.responder_resources = 3;
    parameters.initiator_depth = 2;
    parameters.retry_count = 5;
    parameters.rnr_retry_count = 6;
    parameters.qp_num = number;
    return parameters;
  }

  // Both sides up to CONNECT_RESPONSE.
  void Accept() {
    rdma_conn_param parameters = Parameters(kPassiveNumber);
    ASSERT_EQ(CmAccept(server_, &parameters), 0);
    SeenEvent response = active_.Next();
    ASSERT_EQ(response.type, RDMA_CM_EVENT_CONNECT_RESPONSE);
    EXPECT_EQ(response.parameters.qp_num, kPassiveNumber);
  }

  static ibv_qp_attr AttributesFor(rdma_cm_id* id, ibv_qp_state state, int* mask) {
    ibv_qp_attr attributes = {};
    attributes.qp_state = state;
    EXPECT_EQ(CmInitQpAttr(id, &attributes, mask), 0);
    return attributes;
  }

  CmParty active_;
  CmParty passive_;
  rdma_cm_id* listener_ = nullptr;
  rdma_cm_id* client_ = nullptr;
  rdma_cm_id* server_ = nullptr;
};

TEST_F(CmOwnQueuePair, EstablishCompletesTheConnection) {
  Accept();
  EXPECT_TRUE(passive_.Quiet());
  ASSERT_EQ(CmEstablish(client_), 0);
  EXPECT_EQ(passive_.Next().type, RDMA_CM_EVENT_ESTABLISHED);
  EXPECT_TRUE(active_.Quiet());
  EXPECT_EQ(CmEstablish(client_), -1) << "once";
  EXPECT_EQ(errno, EINVAL);
  ASSERT_EQ(CmDisconnect(client_), 0);
  EXPECT_EQ(passive_.Next().type, RDMA_CM_EVENT_DISCONNECTED);
}

TEST_F(CmOwnQueuePair, AttributesLeadToThePeer) {
  Accept();
  int mask = 0;
  ibv_qp_attr ready = AttributesFor(client_, IBV_QPS_RTR, &mask);
  EXPECT_EQ(mask, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                      IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
  EXPECT_EQ(ready.dest_qp_num, kPassiveNumber);
  EXPECT_EQ(ready.ah_attr.is_global, 1);
  EXPECT_EQ(memcmp(&ready.ah_attr.grh.dgid, &client_->route.addr.addr.ibaddr.dgid, sizeof(ibv_gid)), 0);
  EXPECT_EQ(ready.max_dest_rd_atomic, 2) << "the peer's initiator depth";
  ibv_qp_attr sending = AttributesFor(client_, IBV_QPS_RTS, &mask);
  EXPECT_EQ(sending.max_rd_atomic, 3) << "the peer's responder resources";
  EXPECT_EQ(sending.retry_cnt, 5);
  EXPECT_EQ(sending.rnr_retry, 6);
  EXPECT_NE(sending.timeout, 0);
}

TEST_F(CmOwnQueuePair, PassiveSideKnowsItsPeerFromTheRequestOn) {
  int mask = 0;
  EXPECT_EQ(AttributesFor(server_, IBV_QPS_RTR, &mask).dest_qp_num, kActiveNumber);
  EXPECT_EQ(AttributesFor(server_, IBV_QPS_INIT, &mask).port_num, 1);
  EXPECT_EQ(mask, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
}

TEST_F(CmOwnQueuePair, AttributesBeforeTheAnswerAreInvalid) {
  ibv_qp_attr attributes = {};
  attributes.qp_state = IBV_QPS_RTR;
  int mask = 0;
  EXPECT_EQ(CmInitQpAttr(client_, &attributes, &mask), -1);
  EXPECT_EQ(errno, EINVAL);
  attributes.qp_state = IBV_QPS_SQD;
  EXPECT_EQ(CmInitQpAttr(client_, &attributes, &mask), -1);
  EXPECT_EQ(errno, EINVAL);
}

TEST_F(CmOwnQueuePair, AcceptNeedsToKnowTheNumber) {
  EXPECT_EQ(CmAccept(server_, nullptr), -1);
  EXPECT_EQ(errno, EINVAL);
}

TEST_F(CmOwnQueuePair, PeerThatLeavesInsteadOfBeingEstablishedIsReported) {
  Accept();
  passive_.Destroy(server_);
  SeenEvent event = active_.Next();
  EXPECT_EQ(event.type, RDMA_CM_EVENT_UNREACHABLE);
  EXPECT_EQ(CmEstablish(client_), -1);
  EXPECT_EQ(errno, EINVAL);
}

TEST_F(CmOwnQueuePair, UseBeforeTheConfirmationEstablishes) {
  EXPECT_EQ(CmNotify(server_, IBV_EVENT_COMM_EST), -1);
  EXPECT_EQ(errno, EINVAL) << "not accepted yet";
  Accept();
  ASSERT_EQ(CmNotify(server_, IBV_EVENT_COMM_EST), 0);
  EXPECT_EQ(passive_.Next().type, RDMA_CM_EVENT_ESTABLISHED);
  EXPECT_EQ(CmNotify(server_, IBV_EVENT_COMM_EST), -1);
  EXPECT_EQ(errno, EISCONN);
  ASSERT_EQ(CmEstablish(client_), 0);
  ASSERT_EQ(CmDisconnect(client_), 0);
  EXPECT_EQ(passive_.Next().type, RDMA_CM_EVENT_DISCONNECTED) << "and no second ESTABLISHED";
}

TEST_F(CmOwnQueuePair, RejectionForEceHasItsReason) {
  ASSERT_EQ(CmRejectEce(server_, "no", 2), 0);
  SeenEvent event = active_.Next();
  EXPECT_EQ(event.type, RDMA_CM_EVENT_REJECTED);
  EXPECT_EQ(event.status, 35);
  EXPECT_EQ(event.private_data, "no");
}

}  // namespace
}  // namespace verbena::soft
