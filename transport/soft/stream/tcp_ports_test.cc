// Ports: those that an id is bound to are held against other users of TCP too, from that time on.

#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdlib>
#include <optional>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "transport/soft/soft_api.h"
#include "transport/soft/stream/fabric.h"
#include "transport/soft/stream/tcp_socket.h"
#include "transport/soft/testing/soft_node.h"

namespace verbena::soft {
namespace {

SocketAddress V4(uint8_t last, uint16_t port = 0) {
  SocketAddress address = SocketAddress::Wildcard(AF_INET, port);
  address.address = {127, 0, 0, last};
  return address;
}

SocketAddress Remote4() {
  SocketAddress address = SocketAddress::Wildcard(AF_INET, 7471);
  address.address = {192, 0, 2, 5};
  return address;
}

SocketAddress Any(sa_family_t family) { return SocketAddress::Wildcard(family, 7471); }

// Ids, and the TCP sockets of other programs.
class TcpPorts : public ::testing::Test {
 protected:
  TcpPorts() { channel_ = SoftApi().cm_create_event_channel(); }
  ~TcpPorts() override {
    for (rdma_cm_id* id : ids_) SoftApi().cm_destroy_id(id);
    SoftApi().cm_destroy_event_channel(channel_);
  }

  rdma_cm_id* NewId() {
    rdma_cm_id* id = nullptr;
    EXPECT_EQ(SoftApi().cm_create_id(channel_, &id, nullptr, RDMA_PS_TCP), 0);
    ids_.push_back(id);
    return id;
  }
  static bool HasIpv6() {
    UniqueFd socket;
    return BindTcp(SocketAddress::Wildcard(AF_INET6, 0).AsDestination(), PortClaim::kChosen, &socket) == 0;
  }

  // 0 or an errno value.
  static int Bind(rdma_cm_id* id, const SocketAddress& address) {
    sockaddr_storage raw;
    address.CopyTo(&raw);
    return SoftApi().cm_bind_addr(id, reinterpret_cast<sockaddr*>(&raw)) == 0 ? 0 : errno;
  }
  static int Listen(rdma_cm_id* id) { return SoftApi().cm_listen(id, 0) == 0 ? 0 : errno; }
  static uint16_t PortOf(rdma_cm_id* id) { return ntohs(SoftApi().cm_get_src_port(id)); }

  // Another program's: it asks for this port as servers do. 0 or an errno value.
  int TakeAsServer(uint16_t port) {
    UniqueFd socket;
    int error = BindTcp(V4(1, port), PortClaim::kAsked, &socket);
    if (error == 0) error = ListenTcp(socket.get());
    others_.push_back(std::move(socket));
    return error;
  }
  // The same with any port: which.
  uint16_t TakeAny() {
    UniqueFd socket;
    EXPECT_EQ(BindTcp(V4(1), PortClaim::kChosen, &socket), 0);
    sockaddr_in own = {};
    socklen_t length = sizeof(own);
    EXPECT_EQ(getsockname(socket.get(), reinterpret_cast<sockaddr*>(&own), &length), 0);
    others_.push_back(std::move(socket));
    return ntohs(own.sin_port);
  }

  rdma_event_channel* channel_;
  std::vector<rdma_cm_id*> ids_;
  std::vector<UniqueFd> others_;
};

TEST_F(TcpPorts, ChosenPortCannotBeTakenBeforeTheIdListens) {
  rdma_cm_id* id = NewId();
  ASSERT_EQ(Bind(id, V4(1)), 0);
  EXPECT_EQ(TakeAsServer(PortOf(id)), EADDRINUSE);
  EXPECT_EQ(Listen(id), 0);
}

TEST_F(TcpPorts, PortOfAnotherProgramIsInUse) {
  uint16_t port = TakeAny();
  rdma_cm_id* id = NewId();
  EXPECT_EQ(Bind(id, V4(1, port)), EADDRINUSE);
  others_.clear();
  EXPECT_EQ(Bind(id, V4(1, port)), 0) << "its failure left nothing behind";
}

TEST_F(TcpPorts, ProgramThatListensFirstHasAPortThatBothAskedFor) {
  uint16_t port = TakeAny();
  others_.clear();
  rdma_cm_id* id = NewId();
  ASSERT_EQ(Bind(id, V4(1, port)), 0);
  ASSERT_EQ(TakeAsServer(port), 0);
  EXPECT_EQ(Listen(id), EADDRINUSE);
  EXPECT_EQ(Bind(id, V4(1)), 0) << "the id holds nothing any more";
  EXPECT_EQ(Listen(id), 0);
}

TEST_F(TcpPorts, DestroyedIdGivesItsPortBack) {
  rdma_cm_id* id = NewId();
  ASSERT_EQ(Bind(id, V4(1)), 0);
  uint16_t port = PortOf(id);
  ids_.clear();
  ASSERT_EQ(SoftApi().cm_destroy_id(id), 0);
  EXPECT_EQ(TakeAsServer(port), 0);
}

TEST_F(TcpPorts, ConnectionsOfAPortsLastLifeDoNotKeepIt) {
  uint16_t port = 0;
  {
    SoftNode client;
    SoftNode server;
    rdma_cm_id* listener = server.Listen();
    port = server.PortOf(listener);
    client.Connect(port);
    rdma_cm_id* passive = server.AcceptNext();
    EXPECT_EQ(client.NextEvent(), RDMA_CM_EVENT_ESTABLISHED);
    EXPECT_EQ(server.NextEvent(), RDMA_CM_EVENT_ESTABLISHED);
    server.Destroy(passive);  // Who ends a TCP connection first is in TIME_WAIT with it.
    EXPECT_EQ(client.NextEvent(), RDMA_CM_EVENT_DISCONNECTED);
  }
  rdma_cm_id* id = NewId();
  EXPECT_EQ(Bind(id, V4(1, port)), 0);
  EXPECT_EQ(Listen(id), 0);
}

TEST_F(TcpPorts, ListenersOfTheTwoFamiliesShareAPort) {
  if (!HasIpv6()) GTEST_SKIP() << "this host has no IPv6";
  rdma_cm_id* four = NewId();
  rdma_cm_id* six = NewId();
  ASSERT_EQ(Bind(four, SocketAddress::Wildcard(AF_INET, 0)), 0);
  int only = 1;
  ASSERT_EQ(SoftApi().cm_set_option(six, RDMA_OPTION_ID, RDMA_OPTION_ID_AFONLY, &only, sizeof(only)), 0);
  ASSERT_EQ(Bind(six, SocketAddress::Wildcard(AF_INET6, PortOf(four))), 0);
  EXPECT_EQ(Listen(four), 0);
  EXPECT_EQ(Listen(six), 0);
}

// Where a listener accepts TCP.
class TcpListeningAddressTest : public ::testing::Test {
 protected:
  ~TcpListeningAddressTest() override { unsetenv("VERBENA_SOFT_TCP_BIND"); }

  static void AllowAt(const char* address) { setenv("VERBENA_SOFT_TCP_BIND", address, 1); }
  // Nothing at all is no address of a family.
  static SocketAddress Of(const SocketAddress& address) {
    auto at = TcpListeningAddress(address);
    EXPECT_TRUE(at.ok());
    return at.value_or(std::nullopt).value_or(SocketAddress::Wildcard(AF_UNSPEC, 0));
  }
  static bool Nowhere(const SocketAddress& address) { return Of(address).family == AF_UNSPEC; }
};

TEST_F(TcpListeningAddressTest, UnlessToldOtherwiseOnlyLoopback) {
  EXPECT_TRUE(Of(Any(AF_INET)).SameHost(V4(1)));
  EXPECT_TRUE(Of(Any(AF_INET6)).SameHost(Any(AF_INET6).AsDestination()));
  EXPECT_TRUE(Of(V4(2)).SameHost(V4(2)));
  EXPECT_TRUE(Nowhere(Remote4()));
  EXPECT_EQ(Of(Any(AF_INET)).port, 7471);
}

TEST_F(TcpListeningAddressTest, AnyAddressOfAFamilyIsWhereverTheListenerIs) {
  AllowAt("0.0.0.0");
  EXPECT_TRUE(Of(Any(AF_INET)).IsWildcard());
  EXPECT_TRUE(Of(Remote4()).SameHost(Remote4()));
  EXPECT_TRUE(Nowhere(Any(AF_INET6)));
  AllowAt("::");
  EXPECT_TRUE(Of(Any(AF_INET6)).IsWildcard());
  EXPECT_TRUE(Of(Remote4()).SameHost(Remote4()));
}

TEST_F(TcpListeningAddressTest, OneAddressIsWhereListenersThatCoverItAre) {
  AllowAt("192.0.2.5");
  EXPECT_TRUE(Of(Any(AF_INET)).SameHost(Remote4()));
  EXPECT_TRUE(Of(Remote4()).SameHost(Remote4()));
  EXPECT_TRUE(Nowhere(V4(1)));
  EXPECT_TRUE(Nowhere(Any(AF_INET6)));
}

TEST_F(TcpListeningAddressTest, WhatIsNoAddressIsNotGuessedAt) {
  AllowAt("localhost");
  EXPECT_FALSE(TcpListeningAddress(Any(AF_INET)).ok());
}

}  // namespace
}  // namespace verbena::soft
