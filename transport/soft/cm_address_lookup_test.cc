// rdma_getaddrinfo.

#include <arpa/inet.h>
#include <netdb.h>

#include <cerrno>
#include <memory>

#include "gtest/gtest.h"
#include "transport/soft/cm_api.h"
#include "transport/soft/testing/cm_party.h"

namespace verbena::soft {
namespace {

struct FreeLookup {
  void operator()(rdma_addrinfo* info) const { CmFreeAddrInfo(info); }
};
using Lookup = std::unique_ptr<rdma_addrinfo, FreeLookup>;

Lookup Find(const char* node, const char* service, const rdma_addrinfo* hints) {
  rdma_addrinfo* found = nullptr;
  EXPECT_EQ(CmGetAddrInfo(node, service, hints, &found), 0);
  return Lookup(found);
}

TEST(CmAddressLookup, ActiveSideGetsTheDestination) {
  rdma_addrinfo hints = {};
  hints.ai_port_space = RDMA_PS_TCP;
  Lookup found = Find("127.0.0.1", "7174", &hints);
  EXPECT_EQ(found->ai_family, AF_INET);
  EXPECT_EQ(found->ai_qp_type, IBV_QPT_RC);
  EXPECT_EQ(found->ai_port_space, RDMA_PS_TCP);
  EXPECT_EQ(found->ai_src_addr, nullptr);
  ASSERT_EQ(found->ai_dst_len, sizeof(sockaddr_in));
  EXPECT_EQ(reinterpret_cast<sockaddr_in*>(found->ai_dst_addr)->sin_port, htons(7174));
}

TEST(CmAddressLookup, PassiveSideGetsTheSourceWhichMayBeTheWildcard) {
  rdma_addrinfo hints = {};
  hints.ai_flags = RAI_PASSIVE;
  hints.ai_family = AF_INET;
  hints.ai_port_space = RDMA_PS_TCP;
  Lookup found = Find(nullptr, "7174", &hints);
  EXPECT_NE(found->ai_flags & RAI_PASSIVE, 0);
  EXPECT_EQ(found->ai_dst_addr, nullptr);
  ASSERT_EQ(found->ai_src_len, sizeof(sockaddr_in));
  EXPECT_EQ(reinterpret_cast<sockaddr_in*>(found->ai_src_addr)->sin_addr.s_addr, INADDR_ANY);
}

TEST(CmAddressLookup, Ipv6AddressesKeepTheirScope) {
  Lookup found = Find("fe80::1%lo", "1", nullptr);
  ASSERT_EQ(found->ai_family, AF_INET6);
  EXPECT_NE(reinterpret_cast<sockaddr_in6*>(found->ai_dst_addr)->sin6_scope_id, 0u);
}

TEST(CmAddressLookup, HintsAloneAreCopied) {
  sockaddr_in source = Address4("127.0.0.1", 0);
  sockaddr_in destination = Address4("127.0.0.2", 5);
  rdma_addrinfo hints = {};
  hints.ai_port_space = RDMA_PS_TCP;
  hints.ai_src_addr = reinterpret_cast<sockaddr*>(&source);
  hints.ai_src_len = sizeof(source);
  hints.ai_dst_addr = reinterpret_cast<sockaddr*>(&destination);
  hints.ai_dst_len = sizeof(destination);
  Lookup found = Find(nullptr, nullptr, &hints);
  EXPECT_EQ(found->ai_src_len, sizeof(source));
  EXPECT_EQ(reinterpret_cast<sockaddr_in*>(found->ai_dst_addr)->sin_port, htons(5));
  EXPECT_EQ(found->ai_port_space, RDMA_PS_TCP);
}

TEST(CmAddressLookup, DatagramHintsGiveADatagramPortSpace) {
  rdma_addrinfo hints = {};
  hints.ai_qp_type = IBV_QPT_UD;
  EXPECT_EQ(Find("127.0.0.1", "1", &hints)->ai_port_space, RDMA_PS_UDP);
}

TEST(CmAddressLookup, NamesInANumericLookupAreGetaddrinfosError) {
  rdma_addrinfo hints = {};
  hints.ai_flags = RAI_NUMERICHOST;
  rdma_addrinfo* found = nullptr;
  EXPECT_EQ(CmGetAddrInfo("not.a.number", "1", &hints, &found), EAI_NONAME);
}

TEST(CmAddressLookup, NothingToLookForIsInvalid) {
  rdma_addrinfo* found = nullptr;
  EXPECT_EQ(CmGetAddrInfo(nullptr, nullptr, nullptr, &found), -1);
  EXPECT_EQ(errno, EINVAL);
}

}  // namespace
}  // namespace verbena::soft
