// Ids and channels by themselves: addresses, options, migration, destruction, errors.

#include <arpa/inet.h>
#include <fcntl.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <thread>

#include "gtest/gtest.h"
#include "transport/soft/cm_api.h"
#include "transport/soft/testing/cm_party.h"
#include "transport/soft/testing/open_fds.h"

namespace verbena::soft {
namespace {

sockaddr* Raw(sockaddr_in& address) { return reinterpret_cast<sockaddr*>(&address); }
sockaddr* Raw(sockaddr_in6& address) { return reinterpret_cast<sockaddr*>(&address); }

TEST(CmId, BindReportsTheChosenPort) {
  CmParty party;
  EXPECT_NE(PortOf(party.Listen()), 0);
}

TEST(CmId, BindToTakenAddressIsInUse) {
  CmParty party;
  rdma_cm_id* listener = party.Listen();
  sockaddr_in specific = Address4("127.0.0.1", PortOf(listener));
  EXPECT_EQ(CmBindAddr(party.NewId(), Raw(specific)), -1);
  EXPECT_EQ(errno, EADDRINUSE);
  sockaddr_in wildcard = Address4("0.0.0.0", PortOf(listener));
  EXPECT_EQ(CmBindAddr(party.NewId(), Raw(wildcard)), -1);
  EXPECT_EQ(errno, EADDRINUSE);
}

TEST(CmId, BindToAddressOfAnotherHostIsNotAvailable) {
  CmParty party;
  sockaddr_in address = Address4("192.0.2.1", 0);
  EXPECT_EQ(CmBindAddr(party.NewId(), Raw(address)), -1);
  EXPECT_EQ(errno, EADDRNOTAVAIL);
}

TEST(CmId, SecondBindIsInvalid) {
  CmParty party;
  sockaddr_in address = Address4("127.0.0.1", 0);
  EXPECT_EQ(CmBindAddr(party.Listen(), Raw(address)), -1);
  EXPECT_EQ(errno, EINVAL);
}

TEST(CmId, ListenWithoutBindTakesAnyPort) {
  CmParty party;
  rdma_cm_id* id = party.NewId();
  ASSERT_EQ(CmListen(id, 0), 0);
  EXPECT_NE(PortOf(id), 0);
  EXPECT_EQ(id->verbs, nullptr) << "the wildcard belongs to no device";
}

TEST(CmId, DestroyedChannelIsABadDescriptorToItsReader) {
  rdma_event_channel* channel = CmCreateEventChannel();
  ASSERT_NE(channel, nullptr);
  CmDestroyEventChannel(channel);
  rdma_cm_event* event = nullptr;
  EXPECT_EQ(CmGetEvent(channel, &event), -1);
  EXPECT_EQ(errno, EBADF);
}

TEST(CmId, ResolvesIpv6Loopback) {
  CmParty party;
  rdma_cm_id* id = party.NewId();
  sockaddr_in6 address = {};
  address.sin6_family = AF_INET6;
  address.sin6_port = htons(9);
  address.sin6_addr = in6addr_loopback;
  ASSERT_EQ(CmResolveAddr(id, nullptr, Raw(address), 0), 0);
  EXPECT_EQ(party.Next().type, RDMA_CM_EVENT_ADDR_RESOLVED);
  EXPECT_EQ(id->route.addr.src_addr.sa_family, AF_INET6);
  EXPECT_NE(PortOf(id), 0);
  EXPECT_NE(id->verbs, nullptr);
}

TEST(CmId, AddressToWhichNoRouteLeadsIsAnError) {
  CmParty party;
  sockaddr_in address = Address4("255.255.255.255", 9);
  ASSERT_EQ(CmResolveAddr(party.NewId(), nullptr, Raw(address), 0), 0);
  SeenEvent event = party.Next();
  EXPECT_EQ(event.type, RDMA_CM_EVENT_ADDR_ERROR);
  EXPECT_LT(event.status, 0) << "what the host's routing says";
}

TEST(CmId, CallsOutOfOrderAreInvalid) {
  CmParty party;
  rdma_cm_id* id = party.NewId();
  EXPECT_EQ(CmResolveRoute(id, 0), -1);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(party.Connect(id), -1);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(party.Accept(id), -1);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(CmDisconnect(id), -1);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(CmReject(id, nullptr, 0), -1);
  EXPECT_EQ(errno, EINVAL);
}

TEST(CmId, IdNeedsThePortSpaceOfReliableConnections) {
  CmParty party;
  rdma_cm_id* id = nullptr;
  EXPECT_EQ(CmCreateId(party.channel(), &id, nullptr, RDMA_PS_UDP), -1);
  EXPECT_EQ(errno, EPROTONOSUPPORT);
}

TEST(CmId, OptionsAreKnownByLevelNameAndLength) {
  CmParty party;
  rdma_cm_id* id = party.NewId();
  uint8_t timeout = 14;
  int yes = 1;
  EXPECT_EQ(CmSetOption(id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &timeout, sizeof(timeout)), 0);
  timeout = 32;  // Five bits, as in ibv_qp_attr.
  EXPECT_EQ(CmSetOption(id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &timeout, sizeof(timeout)), -1);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(CmSetOption(id, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &yes, sizeof(yes)), 0);
  EXPECT_EQ(CmSetOption(id, RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &yes, sizeof(yes)), 0);
  EXPECT_EQ(CmSetOption(id, RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &yes, 1), -1);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(CmSetOption(id, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, &yes, sizeof(yes)), -1);
  EXPECT_EQ(errno, ENOSYS);
}

TEST(CmId, NonBlockingChannelSaysTryAgain) {
  CmParty party;
  fcntl(party.channel()->fd, F_SETFL, O_NONBLOCK);
  rdma_cm_event* event;
  EXPECT_EQ(CmGetEvent(party.channel(), &event), -1);
  EXPECT_EQ(errno, EAGAIN);
}

TEST(CmId, DestroyDropsEventsThatNobodyTook) {
  CmParty party;
  rdma_cm_id* id = party.NewId();
  sockaddr_in address = Address4("127.0.0.1", 9);
  ASSERT_EQ(CmResolveAddr(id, nullptr, Raw(address), 0), 0);
  EXPECT_FALSE(party.Quiet());
  party.Destroy(id);
  EXPECT_TRUE(party.Quiet());
}

TEST(CmId, DestroyWaitsForTheAcknowledgementOfTakenEvents) {
  CmParty party;
  rdma_cm_id* id = party.NewId();
  sockaddr_in address = Address4("127.0.0.1", 9);
  ASSERT_EQ(CmResolveAddr(id, nullptr, Raw(address), 0), 0);
  rdma_cm_event* event = party.Take();
  std::atomic<bool> acknowledged{false};
  bool was_acknowledged = false;
  std::thread destroyer([&] {
    party.Destroy(id);
    was_acknowledged = acknowledged.load();
  });
  acknowledged.store(true);
  CmAckEvent(event);
  destroyer.join();
  EXPECT_TRUE(was_acknowledged);
}

TEST(CmId, AcceptedRequestsMayBeDestroyedBeforeTheirEventIsAcknowledged) {
  CmParty active;
  CmParty passive;
  rdma_cm_id* client = active.Resolve(PortOf(passive.Listen()));
  ASSERT_EQ(active.Connect(client), 0);
  rdma_cm_event* event = passive.Take();
  EXPECT_EQ(CmDestroyId(event->id), 0);
  EXPECT_EQ(CmAckEvent(event), 0);
}

TEST(CmId, MigrationTakesPendingEventsAlong) {
  CmParty from;
  CmParty to;
  ConnectedIds ids = ConnectParties(from, from);
  ASSERT_EQ(CmDisconnect(ids.active), 0);
  ASSERT_EQ(CmMigrateId(ids.active, to.channel()), 0);
  SeenEvent event = to.Next();
  EXPECT_EQ(event.type, RDMA_CM_EVENT_DISCONNECTED);
  EXPECT_EQ(event.id, ids.active);
  EXPECT_EQ(ids.active->channel, to.channel());
  EXPECT_EQ(from.Next().id, ids.passive);
  EXPECT_TRUE(from.Quiet());
  from.Destroy(ids.active);
}

TEST(CmId, EventsAfterMigrationComeOnTheOtherChannel) {
  CmParty from;
  CmParty to;
  ConnectedIds ids = ConnectParties(from, from);
  ASSERT_EQ(CmMigrateId(ids.passive, to.channel()), 0);
  ASSERT_EQ(CmDisconnect(ids.active), 0);
  EXPECT_EQ(to.Next().type, RDMA_CM_EVENT_DISCONNECTED);
  from.Destroy(ids.passive);
}

TEST(CmId, ThousandConnectionsLeaveNoDescriptorBehind) {
  CmParty active;
  CmParty passive;
  ConnectedIds warm_up = ConnectParties(active, passive);
  active.Destroy(warm_up.active);
  passive.Next();
  size_t before = OpenFds();
  for (int i = 0; i < 1000; ++i) {
    rdma_cm_id* client = active.Resolve(PortOf(warm_up.listener));
    ASSERT_EQ(active.Connect(client), 0);
    rdma_cm_id* server = passive.Next().id;
    passive.MakeQueuePair(server);
    ASSERT_EQ(passive.Accept(server), 0);
    ASSERT_EQ(active.Next().type, RDMA_CM_EVENT_ESTABLISHED);
    ASSERT_EQ(passive.Next().type, RDMA_CM_EVENT_ESTABLISHED);
    active.Destroy(client);
    ASSERT_EQ(passive.Next().type, RDMA_CM_EVENT_DISCONNECTED);
    passive.Destroy(server);
  }
  EXPECT_EQ(OpenFds(), before);
}

}  // namespace
}  // namespace verbena::soft
