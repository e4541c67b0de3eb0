// Connections between two ids of one process, through the interface that applications see.

#include <poll.h>
#include <sched.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "gtest/gtest.h"
#include "transport/soft/cm_api.h"
#include "transport/soft/fake_engine.h"
#include "transport/soft/testing/cm_party.h"

namespace verbena::soft {
namespace {

class CmConnection : public ::testing::Test {
 protected:
  // A connect request that the passive side has taken, with its queue pair made.
  rdma_cm_id* TakeRequest(const std::string& private_data = "") {
    listener_ = passive_.Listen();
    client_ = active_.Resolve(PortOf(listener_));
    EXPECT_EQ(active_.Connect(client_, private_data), 0);
    request_ = passive_.Next();
    EXPECT_EQ(request_.type, RDMA_CM_EVENT_CONNECT_REQUEST);
    passive_.MakeQueuePair(request_.id);
    return request_.id;
  }

  CmParty active_;
  CmParty passive_;
  rdma_cm_id* listener_ = nullptr;
  rdma_cm_id* client_ = nullptr;
  SeenEvent request_;
};

TEST_F(CmConnection, RequestShowsWhatTheActiveSideAsked) {
  TakeRequest(std::string(56, 'q'));
  EXPECT_EQ(request_.listen_id, listener_);
  EXPECT_EQ(request_.id->context, listener_->context);
  EXPECT_EQ(request_.id->channel, passive_.channel());
  EXPECT_EQ(request_.private_data, std::string(56, 'q'));
  EXPECT_EQ(request_.parameters.responder_resources, 2) << "the peer's initiator depth";
  EXPECT_EQ(request_.parameters.initiator_depth, 3) << "the peer's responder resources";
  EXPECT_EQ(request_.parameters.retry_count, 5);
  EXPECT_EQ(request_.parameters.rnr_retry_count, 6);
  EXPECT_EQ(request_.parameters.qp_num, client_->qp->qp_num);
  EXPECT_EQ(PortOf(request_.id), PortOf(listener_));
  EXPECT_EQ(request_.id->route.addr.dst_sin.sin_port, CmGetSrcPort(client_));
  EXPECT_NE(request_.id->verbs, nullptr);
}

TEST_F(CmConnection, AcceptEstablishesBothSidesAndLinksTheQueuePairs) {
  rdma_cm_id* server = TakeRequest();
  ASSERT_EQ(passive_.Accept(server, std::string(196, 'a')), 0);
  SeenEvent active_event = active_.Next();
  EXPECT_EQ(active_event.type, RDMA_CM_EVENT_ESTABLISHED);
  EXPECT_EQ(active_event.id, client_);
  EXPECT_EQ(active_event.private_data, std::string(196, 'a'));
  EXPECT_EQ(active_event.parameters.responder_resources, 2);
  EXPECT_EQ(active_event.parameters.qp_num, server->qp->qp_num);
  SeenEvent passive_event = passive_.Next();
  EXPECT_EQ(passive_event.type, RDMA_CM_EVENT_ESTABLISHED);
  EXPECT_EQ(passive_event.id, server);
  FakeQueuePair one = FakeQueuePairOf(client_->qp->qp_num);
  FakeQueuePair other = FakeQueuePairOf(server->qp->qp_num);
  EXPECT_EQ(one.peer_number, server->qp->qp_num);
  EXPECT_EQ(other.peer_number, client_->qp->qp_num);
  EXPECT_EQ(one.parameters.responder_resources, 3);
  EXPECT_EQ(other.parameters.retry_count, 5);
}

TEST_F(CmConnection, ManyWhoComeAtATimeAllHaveTheirTurn) {
  constexpr int kPeers = 20;
  listener_ = passive_.Listen();
  for (int i = 0; i < kPeers; ++i) ASSERT_EQ(active_.Connect(active_.Resolve(PortOf(listener_))), 0);
  for (int i = 0; i < kPeers; ++i) ASSERT_EQ(passive_.Next().type, RDMA_CM_EVENT_CONNECT_REQUEST) << i;
}

TEST_F(CmConnection, AcceptWithoutParametersTakesThoseOfTheRequest) {
  rdma_cm_id* server = TakeRequest();
  ASSERT_EQ(CmAccept(server, nullptr), 0);
  SeenEvent event = active_.Next();
  EXPECT_EQ(event.type, RDMA_CM_EVENT_ESTABLISHED);
  EXPECT_EQ(event.parameters.responder_resources, 3);
  EXPECT_EQ(event.parameters.initiator_depth, 2);
}

TEST_F(CmConnection, RejectBringsReasonAndPrivateData) {
  rdma_cm_id* server = TakeRequest();
  std::string reason(148, 'r');
  ASSERT_EQ(CmReject(server, reason.data(), 148), 0);
  SeenEvent event = active_.Next();
  EXPECT_EQ(event.type, RDMA_CM_EVENT_REJECTED);
  EXPECT_EQ(event.status, 28);
  EXPECT_EQ(event.private_data, reason);
  EXPECT_EQ(FakeQueuePairOf(client_->qp->qp_num).error_count, 1);
  EXPECT_EQ(passive_.Accept(server), -1);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_TRUE(passive_.Quiet());
}

TEST_F(CmConnection, NobodyListeningIsRejectedWithInvalidService) {
  listener_ = passive_.Listen();
  uint16_t port = PortOf(listener_);
  passive_.Destroy(listener_);
  client_ = active_.Resolve(port);
  ASSERT_EQ(active_.Connect(client_), 0);
  SeenEvent event = active_.Next();
  EXPECT_EQ(event.type, RDMA_CM_EVENT_REJECTED);
  EXPECT_EQ(event.status, 8);
}

TEST_F(CmConnection, ListenerOfAnotherAddressIsNotReached) {
  listener_ = passive_.Listen();
  rdma_cm_id* other = passive_.NewId();
  sockaddr_in address = Address4("127.0.0.2", PortOf(listener_));
  ASSERT_EQ(CmBindAddr(other, reinterpret_cast<sockaddr*>(&address)), 0);
  client_ = active_.NewId();
  ASSERT_EQ(CmResolveAddr(client_, nullptr, reinterpret_cast<sockaddr*>(&address), 0), 0);
  ASSERT_EQ(CmResolveRoute(client_, 0), 0);
  active_.Next();
  active_.Next();
  active_.MakeQueuePair(client_);
  ASSERT_EQ(active_.Connect(client_), 0);
  EXPECT_EQ(active_.Next().status, 8);
}

TEST_F(CmConnection, PrivateDataPastTheLimitIsInvalid) {
  rdma_cm_id* server = TakeRequest();
  std::string text(197, 'x');
  EXPECT_EQ(passive_.Accept(server, text), -1);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(CmReject(server, text.data(), 149), -1);
  EXPECT_EQ(errno, EINVAL);
  rdma_cm_id* second = active_.Resolve(PortOf(listener_));
  EXPECT_EQ(active_.Connect(second, std::string(57, 'x')), -1);
  EXPECT_EQ(errno, EINVAL);
}

TEST_F(CmConnection, DisconnectIsReportedOnceOnEachSide) {
  ConnectedIds ids = ConnectParties(active_, passive_);
  ASSERT_EQ(CmDisconnect(ids.active), 0);
  EXPECT_EQ(active_.Next().type, RDMA_CM_EVENT_DISCONNECTED);
  EXPECT_EQ(passive_.Next().type, RDMA_CM_EVENT_DISCONNECTED);
  EXPECT_EQ(FakeQueuePairOf(ids.active->qp->qp_num).error_count, 1);
  EXPECT_EQ(FakeQueuePairOf(ids.passive->qp->qp_num).peer_gone_count, 1);
  EXPECT_EQ(CmDisconnect(ids.passive), 0) << "the passive side answers";
  EXPECT_EQ(CmDisconnect(ids.active), 0);
  EXPECT_TRUE(active_.Quiet());
  EXPECT_TRUE(passive_.Quiet());
}

TEST_F(CmConnection, DestroyedIdDisconnectsItsPeer) {
  ConnectedIds ids = ConnectParties(active_, passive_);
  active_.Destroy(ids.active);
  SeenEvent event = passive_.Next();
  EXPECT_EQ(event.type, RDMA_CM_EVENT_DISCONNECTED);
  EXPECT_EQ(event.id, ids.passive);
}

TEST_F(CmConnection, DestroyedListenerKeepsItsConnections) {
  ConnectedIds ids = ConnectParties(active_, passive_);
  passive_.Destroy(ids.listener);
  EXPECT_TRUE(active_.Quiet());
  CmDisconnect(ids.passive);
  EXPECT_EQ(active_.Next().type, RDMA_CM_EVENT_DISCONNECTED);
}

TEST_F(CmConnection, DestroyedListenerRejectsRequestsThatNobodyTook) {
  listener_ = passive_.Listen();
  client_ = active_.Resolve(PortOf(listener_));
  ASSERT_EQ(active_.Connect(client_), 0);
  pollfd waiting = {passive_.channel()->fd, POLLIN, 0};
  ASSERT_EQ(poll(&waiting, 1, 10000), 1) << "the request is queued";
  passive_.Destroy(listener_);
  EXPECT_TRUE(passive_.Quiet());
  SeenEvent event = active_.Next();
  EXPECT_EQ(event.type, RDMA_CM_EVENT_REJECTED);
  EXPECT_EQ(event.status, 28);
}

TEST_F(CmConnection, RequestOfPeerThatLeftIsForgottenBeforeAnyoneTakesIt) {
  listener_ = passive_.Listen();
  client_ = active_.Resolve(PortOf(listener_));
  ASSERT_EQ(active_.Connect(client_), 0);
  pollfd waiting = {passive_.channel()->fd, POLLIN, 0};
  ASSERT_EQ(poll(&waiting, 1, 10000), 1) << "the request is queued";
  active_.Destroy(client_);
  while (!passive_.Quiet()) sched_yield();
}

TEST_F(CmConnection, DestroyedRequestIsRejected) {
  rdma_cm_id* server = TakeRequest();
  passive_.Destroy(server);
  SeenEvent event = active_.Next();
  EXPECT_EQ(event.type, RDMA_CM_EVENT_REJECTED);
  EXPECT_EQ(event.status, 28);
}

TEST_F(CmConnection, ActiveSideThatGivesUpIsReportedAsRejected) {
  rdma_cm_id* server = TakeRequest();
  active_.Destroy(client_);
  SeenEvent event = passive_.Next();
  EXPECT_EQ(event.type, RDMA_CM_EVENT_REJECTED);
  EXPECT_EQ(event.id, server);
  EXPECT_EQ(event.status, 4);
  EXPECT_EQ(passive_.Accept(server), -1);
  EXPECT_EQ(errno, EINVAL);
}

TEST_F(CmConnection, RequestsPastTheBacklogAreRejected) {
  listener_ = passive_.Listen(/*backlog=*/1);
  rdma_cm_id* first = active_.Resolve(PortOf(listener_));
  rdma_cm_id* second = active_.Resolve(PortOf(listener_));
  ASSERT_EQ(active_.Connect(first), 0);
  ASSERT_EQ(active_.Connect(second), 0);
  SeenEvent event = active_.Next();
  EXPECT_EQ(event.type, RDMA_CM_EVENT_REJECTED);
  EXPECT_EQ(event.status, 3);
  EXPECT_EQ(passive_.Next().type, RDMA_CM_EVENT_CONNECT_REQUEST);
  EXPECT_TRUE(passive_.Quiet());
}

TEST_F(CmConnection, EngineThatCannotAcceptRejectsThePeer) {
  rdma_cm_id* server = TakeRequest();
  FailNextAcceptOffer();
  EXPECT_EQ(passive_.Accept(server), -1);
  EXPECT_EQ(errno, ENOMEM);
  EXPECT_EQ(active_.Next().type, RDMA_CM_EVENT_REJECTED);
}

TEST_F(CmConnection, EngineThatCannotCompleteFailsBothSides) {
  rdma_cm_id* server = TakeRequest();
  FailNextCompleteOffer();
  EXPECT_EQ(passive_.Accept(server), 0);
  SeenEvent event = active_.Next();
  EXPECT_EQ(event.type, RDMA_CM_EVENT_CONNECT_ERROR);
  EXPECT_EQ(event.status, -ENOMEM);
  EXPECT_EQ(passive_.Next().type, RDMA_CM_EVENT_REJECTED);
  EXPECT_EQ(FakeQueuePairOf(server->qp->qp_num).peer_gone_count, 1);
}

TEST_F(CmConnection, RouteHasGidsAndOnePath) {
  rdma_cm_id* server = TakeRequest();
  const uint8_t mapped_loopback[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1};
  for (rdma_cm_id* id : {client_, server}) {
    const rdma_route& route = id->route;
    EXPECT_EQ(memcmp(route.addr.addr.ibaddr.sgid.raw, mapped_loopback, 16), 0);
    EXPECT_EQ(memcmp(route.addr.addr.ibaddr.dgid.raw, mapped_loopback, 16), 0);
    EXPECT_EQ(route.addr.addr.ibaddr.pkey, 0xffff);
    ASSERT_EQ(route.num_paths, 1);
    EXPECT_EQ(memcmp(route.path_rec->dgid.raw, mapped_loopback, 16), 0);
    EXPECT_EQ(id->port_num, 1);
  }
  EXPECT_EQ(CmGetDstPort(client_), CmGetSrcPort(server));
}

TEST_F(CmConnection, DefaultsAskForWhatTheDeviceCan) {
  listener_ = passive_.Listen();
  client_ = active_.Resolve(PortOf(listener_));
  ASSERT_EQ(CmConnect(client_, nullptr), 0);
  request_ = passive_.Next();
  EXPECT_EQ(request_.parameters.responder_resources, kFakeDepthMax);
  EXPECT_EQ(request_.parameters.initiator_depth, kFakeDepthMax);
  EXPECT_EQ(request_.parameters.retry_count, 7);
  EXPECT_EQ(request_.parameters.rnr_retry_count, 7);
}

TEST_F(CmConnection, MoreReadsThanTheDeviceCanAreInvalidAndRetryCountsAreCut) {
  listener_ = passive_.Listen();
  client_ = active_.Resolve(PortOf(listener_));
  rdma_conn_param parameters = {};
  parameters.responder_resources = kFakeDepthMax + 1;
  EXPECT_EQ(CmConnect(client_, &parameters), -1);
  EXPECT_EQ(errno, EINVAL);
  parameters = {};
  parameters.retry_count = parameters.rnr_retry_count = 200;
  ASSERT_EQ(CmConnect(client_, &parameters), 0);
  request_ = passive_.Next();
  EXPECT_EQ(request_.parameters.retry_count, 7);
  EXPECT_EQ(request_.parameters.rnr_retry_count, 7);
}

TEST_F(CmConnection, BothSidesLeaveTimewaitAfterBothDisconnected) {
  ConnectedIds ids = ConnectParties(active_, passive_);
  ASSERT_EQ(CmDisconnect(ids.active), 0);
  EXPECT_EQ(active_.Next().type, RDMA_CM_EVENT_DISCONNECTED);
  EXPECT_EQ(passive_.Next().type, RDMA_CM_EVENT_DISCONNECTED);
  SeenEvent exit = active_.Next();
  EXPECT_EQ(exit.type, RDMA_CM_EVENT_TIMEWAIT_EXIT);
  EXPECT_EQ(exit.status, 0);
  EXPECT_TRUE(passive_.Quiet()) << "it has not disconnected yet";
  ASSERT_EQ(CmDisconnect(ids.passive), 0);
  EXPECT_EQ(passive_.Next().type, RDMA_CM_EVENT_TIMEWAIT_EXIT);
}

TEST_F(CmConnection, IdDestroyedInTimewaitIsHeardOfNoMore) {
  ConnectedIds ids = ConnectParties(active_, passive_);
  ASSERT_EQ(CmDisconnect(ids.active), 0);
  EXPECT_EQ(active_.Next().type, RDMA_CM_EVENT_DISCONNECTED);
  active_.Destroy(ids.active);
  EXPECT_EQ(passive_.Next().type, RDMA_CM_EVENT_DISCONNECTED);
  ASSERT_EQ(CmDisconnect(ids.passive), 0);
  EXPECT_EQ(passive_.Next().type, RDMA_CM_EVENT_TIMEWAIT_EXIT);
  EXPECT_TRUE(active_.Quiet());
}

TEST_F(CmConnection, ConnectWithoutQueuePairAndWithoutParametersIsInvalid) {
  listener_ = passive_.Listen();
  client_ = active_.Resolve(PortOf(listener_));
  CmDestroyQp(client_);
  EXPECT_EQ(CmConnect(client_, nullptr), -1);
  EXPECT_EQ(errno, EINVAL);
}

}  // namespace
}  // namespace verbena::soft
