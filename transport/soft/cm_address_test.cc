#include "transport/soft/cm_address.h"

#include <arpa/inet.h>

#include "gtest/gtest.h"

namespace verbena::soft {
namespace {

SocketAddress V4(const char* text, uint16_t port = 0) {
  sockaddr_in raw = {};
  raw.sin_family = AF_INET;
  raw.sin_port = htons(port);
  EXPECT_EQ(inet_pton(AF_INET, text, &raw.sin_addr), 1);
  return *SocketAddress::From(reinterpret_cast<sockaddr*>(&raw));
}

SocketAddress V6(const char* text, uint32_t scope = 0) {
  sockaddr_in6 raw = {};
  raw.sin6_family = AF_INET6;
  raw.sin6_scope_id = scope;
  EXPECT_EQ(inet_pton(AF_INET6, text, &raw.sin6_addr), 1);
  return *SocketAddress::From(reinterpret_cast<sockaddr*>(&raw));
}

TEST(SocketAddress, RawFormComesBack) {
  sockaddr_storage raw;
  V4("10.1.2.3", 7471).CopyTo(&raw);
  SocketAddress back = *SocketAddress::From(reinterpret_cast<sockaddr*>(&raw));
  EXPECT_TRUE(back.SameHost(V4("10.1.2.3")));
  EXPECT_EQ(back.port, 7471);
  V6("fe80::1", 3).CopyTo(&raw);
  EXPECT_EQ(SocketAddress::From(reinterpret_cast<sockaddr*>(&raw))->scope, 3u);
}

TEST(SocketAddress, OtherFamiliesAndNullAreNothing) {
  sockaddr raw = {};
  raw.sa_family = AF_UNIX;
  EXPECT_FALSE(SocketAddress::From(&raw).has_value());
  EXPECT_FALSE(SocketAddress::From(nullptr).has_value());
}

TEST(SocketAddress, MappedAddressIsTheIpv4Address) { EXPECT_TRUE(V6("::ffff:10.1.2.3").SameHost(V4("10.1.2.3"))); }

TEST(SocketAddress, ScopesMatterOnlyWhereBothNameOne) {
  EXPECT_TRUE(V6("fe80::1", 2).SameHost(V6("fe80::1")));
  EXPECT_FALSE(V6("fe80::1", 2).SameHost(V6("fe80::1", 3)));
}

TEST(SocketAddress, WildcardAsDestinationIsThisHost) {
  EXPECT_TRUE(V4("0.0.0.0").AsDestination().SameHost(V4("127.0.0.1")));
  EXPECT_TRUE(V6("::").AsDestination().SameHost(V6("::1")));
  EXPECT_TRUE(V4("10.1.2.3").AsDestination().SameHost(V4("10.1.2.3")));
}

TEST(SocketAddress, LoopbackIsOfThisHostAndDocumentationAddressesAreNot) {
  EXPECT_TRUE(IsAddressOfThisHost(V4("127.0.0.1")));
  EXPECT_TRUE(IsAddressOfThisHost(V4("127.8.9.10")));
  EXPECT_TRUE(IsAddressOfThisHost(V6("::1")));
  EXPECT_FALSE(IsAddressOfThisHost(V4("192.0.2.1")));
  EXPECT_FALSE(IsAddressOfThisHost(V6("2001:db8::1")));
}

}  // namespace
}  // namespace verbena::soft
