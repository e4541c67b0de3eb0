#include "transport/address.h"

#include "gtest/gtest.h"
#include "transport/verbs/socket_address.h"

namespace verbena::transport {
namespace {

TEST(Address, TheThreeFormsAreUnderstood) {
  EXPECT_EQ(ParseAddress("rdma://10.0.0.1:7471")->scheme, Scheme::kRdma);
  EXPECT_EQ(ParseAddress("soft://localhost:1")->scheme, Scheme::kSoft);
  const Address plain = *ParseAddress("[::1]:65535");
  EXPECT_EQ(plain.scheme, Scheme::kAuto);
  EXPECT_EQ(plain.host, "::1");
  EXPECT_EQ(plain.port, 65535);
}

TEST(Address, WhatIsWrongIsSaidInWords) {
  const auto error = [](absl::string_view text) { return std::string(ParseAddress(text).status().message()); };
  EXPECT_NE(error("localhost").find("port is missing"), std::string::npos);
  EXPECT_NE(error("localhost:70000").find("0 to 65535"), std::string::npos);
  EXPECT_NE(error(":7471").find("host is missing"), std::string::npos);
  EXPECT_NE(error("::1:7471").find("brackets"), std::string::npos);
  EXPECT_NE(error("tcp://a:1").find("unknown scheme"), std::string::npos);
  EXPECT_EQ(ParseAddress("tcp://a:1").status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(Address, ALiteralResolvesToItselfAndReadsTheSame) {
  for (const char* text : {"127.0.0.1:7471", "[::1]:80"}) {
    const Address address = *ParseAddress(text);
    EXPECT_TRUE(LiteralHost(address.host).has_value());
    const HostAddresses resolved = *ResolveHost(address);
    ASSERT_EQ(resolved.size(), 1u);
    EXPECT_EQ(verbs::AddressText(reinterpret_cast<const sockaddr*>(&resolved.front())), text);
  }
}

TEST(Address, AnUnknownHostIsNotFound) {
  const Address address = *ParseAddress("no-such-host.invalid:1");
  EXPECT_FALSE(LiteralHost(address.host).has_value());
  EXPECT_EQ(ResolveHost(address).status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace verbena::transport
