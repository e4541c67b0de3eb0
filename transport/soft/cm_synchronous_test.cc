// Synchronous ids and endpoints: calls that wait for their outcome.

#include <arpa/inet.h>
#include <fcntl.h>

#include <cerrno>
#include <string>
#include <thread>

#include "gtest/gtest.h"
#include "transport/soft/cm_api.h"
#include "transport/soft/fake_engine.h"
#include "transport/soft/testing/cm_party.h"
#include "transport/soft/testing/open_fds.h"

namespace verbena::soft {
namespace {

// An id without a channel, destroyed with the test.
class SynchronousId {
 public:
  SynchronousId() { EXPECT_EQ(CmCreateId(nullptr, &id_, nullptr, RDMA_PS_TCP), 0); }
  explicit SynchronousId(rdma_cm_id* id) : id_(id) {}
  ~SynchronousId() { CmDestroyEp(id_); }
  SynchronousId(const SynchronousId&) = delete;
  SynchronousId& operator=(const SynchronousId&) = delete;

  rdma_cm_id* get() const { return id_; }
  rdma_cm_id* operator->() const { return id_; }

 private:
  rdma_cm_id* id_ = nullptr;
};

// What CmGetAddrInfo finds for 127.0.0.1.
rdma_addrinfo* LookUp(int flags, uint16_t port) {
  rdma_addrinfo hints = {};
  hints.ai_flags = flags | RAI_NUMERICHOST;
  hints.ai_port_space = RDMA_PS_TCP;
  rdma_addrinfo* found = nullptr;
  EXPECT_EQ(CmGetAddrInfo("127.0.0.1", std::to_string(port).c_str(), &hints, &found), 0);
  return found;
}

rdma_cm_id* Endpoint(int flags, uint16_t port) {
  rdma_addrinfo* info = LookUp(flags, port);
  ibv_qp_init_attr attributes = FakeQueuePairAttributes();
  rdma_cm_id* id = nullptr;
  EXPECT_EQ(CmCreateEp(&id, info, nullptr, &attributes), 0);
  CmFreeAddrInfo(info);
  return id;
}

sockaddr* Raw(sockaddr_in& address) { return reinterpret_cast<sockaddr*>(&address); }

TEST(CmSynchronous, ResolvingWaitsAndKeepsItsEvent) {
  SynchronousId id;
  sockaddr_in address = Address4("127.0.0.1", 9);
  ASSERT_EQ(CmResolveAddr(id.get(), nullptr, Raw(address), 0), 0);
  ASSERT_NE(id->event, nullptr);
  EXPECT_EQ(id->event->event, RDMA_CM_EVENT_ADDR_RESOLVED);
  ASSERT_EQ(CmResolveRoute(id.get(), 0), 0);
  EXPECT_EQ(id->event->event, RDMA_CM_EVENT_ROUTE_RESOLVED);
}

TEST(CmSynchronous, FailedResolutionIsTheCallsError) {
  SynchronousId id;
  sockaddr_in address = Address4("255.255.255.255", 9);
  errno = 0;
  EXPECT_EQ(CmResolveAddr(id.get(), nullptr, Raw(address), 0), -1);
  int error = errno;
  EXPECT_EQ(id->event->event, RDMA_CM_EVENT_ADDR_ERROR);
  EXPECT_EQ(error, -id->event->status);
}

TEST(CmSynchronous, ErrorsBeforeAnyEventDoNotWait) {
  SynchronousId id;
  EXPECT_EQ(CmResolveRoute(id.get(), 0), -1);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(id->event, nullptr);
}

TEST(CmSynchronous, RejectedConnectIsRefused) {
  SynchronousId id(Endpoint(0, 9));
  EXPECT_EQ(CmConnect(id.get(), nullptr), -1);
  EXPECT_EQ(errno, ECONNREFUSED);
  EXPECT_EQ(id->event->event, RDMA_CM_EVENT_REJECTED);
}

TEST(CmSynchronous, EndpointsConnectAndDisconnect) {
  SynchronousId listener(Endpoint(RAI_PASSIVE, 0));
  ASSERT_EQ(CmListen(listener.get(), 0), 0);
  int connected = -1;
  SynchronousId client(Endpoint(0, PortOf(listener.get())));
  std::thread connecting([&] { connected = CmConnect(client.get(), nullptr); });
  rdma_cm_id* taken = nullptr;
  ASSERT_EQ(CmGetRequest(listener.get(), &taken), 0);
  SynchronousId server(taken);
  EXPECT_EQ(server->event->event, RDMA_CM_EVENT_CONNECT_REQUEST);
  EXPECT_NE(server->channel, listener->channel);
  ASSERT_NE(server->qp, nullptr) << "made with the listening endpoint's attributes";
  EXPECT_EQ(CmAccept(server.get(), nullptr), 0);
  connecting.join();
  EXPECT_EQ(connected, 0);
  EXPECT_EQ(client->event->event, RDMA_CM_EVENT_ESTABLISHED);
  EXPECT_EQ(FakeQueuePairOf(client->qp->qp_num).peer_number, server->qp->qp_num);
  EXPECT_EQ(CmDisconnect(client.get()), 0);
  EXPECT_EQ(CmDisconnect(server.get()), 0);
  EXPECT_EQ(server->event->event, RDMA_CM_EVENT_DISCONNECTED);
}

TEST(CmSynchronous, EndpointSendsItsPrefixBeforeThePrivateData) {
  CmParty passive;
  rdma_addrinfo* info = LookUp(0, PortOf(passive.Listen()));
  info->ai_connect = strdup("hello ");
  info->ai_connect_len = 6;
  ibv_qp_init_attr attributes = FakeQueuePairAttributes();
  rdma_cm_id* client = nullptr;
  ASSERT_EQ(CmCreateEp(&client, info, nullptr, &attributes), 0);
  CmFreeAddrInfo(info);
  rdma_event_channel* channel = CmCreateEventChannel();
  ASSERT_EQ(CmMigrateId(client, channel), 0) << "so that the connect does not wait";
  rdma_conn_param parameters = {};
  parameters.private_data = "there";
  parameters.private_data_len = 5;
  ASSERT_EQ(CmConnect(client, &parameters), 0);
  EXPECT_EQ(passive.Next().private_data, "hello there");
  CmDestroyEp(client);
  CmDestroyEventChannel(channel);
}

TEST(CmSynchronous, ListenerOfAnotherKindHandsOutNoRequests) {
  CmParty party;
  rdma_cm_id* taken = nullptr;
  EXPECT_EQ(CmGetRequest(party.Listen(), &taken), -1);
  EXPECT_EQ(errno, EINVAL);
}

TEST(CmSynchronous, NonBlockingListenerSaysTryAgain) {
  SynchronousId listener(Endpoint(RAI_PASSIVE, 0));
  ASSERT_EQ(CmListen(listener.get(), 0), 0);
  fcntl(listener->channel->fd, F_SETFL, O_NONBLOCK);
  rdma_cm_id* taken = nullptr;
  EXPECT_EQ(CmGetRequest(listener.get(), &taken), -1);
  EXPECT_EQ(errno, EAGAIN);
}

TEST(CmSynchronous, MigratedIdWaitsNoMore) {
  CmParty party;
  SynchronousId id;
  ASSERT_EQ(CmMigrateId(id.get(), party.channel()), 0);
  sockaddr_in address = Address4("127.0.0.1", 9);
  ASSERT_EQ(CmResolveAddr(id.get(), nullptr, Raw(address), 0), 0);
  EXPECT_EQ(party.Next().type, RDMA_CM_EVENT_ADDR_RESOLVED);
  EXPECT_EQ(id->event, nullptr);
}

TEST(CmSynchronous, MigrationToNoChannelWaitsFromThenOn) {
  CmParty party;
  rdma_cm_id* id = party.NewId();
  ASSERT_EQ(CmMigrateId(id, nullptr), 0);
  EXPECT_EQ(CmMigrateId(id, nullptr), -1) << "it is synchronous already";
  EXPECT_EQ(errno, EINVAL);
  sockaddr_in address = Address4("127.0.0.1", 9);
  ASSERT_EQ(CmResolveAddr(id, nullptr, Raw(address), 0), 0);
  EXPECT_EQ(id->event->event, RDMA_CM_EVENT_ADDR_RESOLVED);
  EXPECT_TRUE(party.Quiet());
}

TEST(CmSynchronous, FailedEndpointLeavesNothingBehind) {
  rdma_addrinfo* info = LookUp(RAI_PASSIVE, 0);
  CmDestroyEp(Endpoint(RAI_PASSIVE, 0));
  size_t before = OpenFds();
  info->ai_port_space = RDMA_PS_UDP;
  rdma_cm_id* id = nullptr;
  EXPECT_EQ(CmCreateEp(&id, info, nullptr, nullptr), -1);
  EXPECT_EQ(errno, EPROTONOSUPPORT);
  info->ai_port_space = RDMA_PS_TCP;
  reinterpret_cast<sockaddr_in*>(info->ai_src_addr)->sin_addr.s_addr = inet_addr("192.0.2.1");
  EXPECT_EQ(CmCreateEp(&id, info, nullptr, nullptr), -1);
  EXPECT_EQ(errno, EADDRNOTAVAIL);
  EXPECT_EQ(id, nullptr);
  EXPECT_EQ(OpenFds(), before);
  CmFreeAddrInfo(info);
}

}  // namespace
}  // namespace verbena::soft
