#include "rpc/names/host_port.h"

#include <gtest/gtest.h>

namespace verbena::rpc {
namespace {

std::string Words(const absl::Status& status) { return std::string(status.message()); }

TEST(HostPort, NamesAndLiteralsAreRead) {
  EXPECT_EQ(ParseHostPort("a.example:70")->host, "a.example");
  EXPECT_EQ(ParseHostPort("10.0.0.1:65535")->port, 65535);
  EXPECT_EQ(ParseHostPort("[fd00::1]:70")->host, "fd00::1");
}

TEST(HostPort, WhatIsWrongIsSaid) {
  EXPECT_EQ(Words(ParseHostPort("a").status()), "\"a\": the port is missing; write host:port");
  EXPECT_EQ(Words(ParseHostPort("a:0").status()), "\"a:0\": the port is not a number from 1 to 65535; write host:port");
  EXPECT_EQ(Words(ParseHostPort("a:65536").status()),
            "\"a:65536\": the port is not a number from 1 to 65535; write host:port");
  EXPECT_EQ(Words(ParseHostPort(":70").status()), "\":70\": the host is missing; write host:port");
  EXPECT_EQ(Words(ParseHostPort("fd00::1:70").status()),
            "\"fd00::1:70\": an IPv6 host needs brackets; write host:port");
  EXPECT_EQ(Words(ParseHostPort("a b:70").status()),
            "\"a b:70\": the host has a character that no host has; write host:port");
}

TEST(HostPort, FormatIsReadBack) {
  EXPECT_EQ(FormatHostPort("fd00::1", 70), "[fd00::1]:70");
  EXPECT_EQ(FormatHostPort("10.0.0.1", 70), "10.0.0.1:70");
}

TEST(HostPort, ServersMayNameTheirDevice) {
  EXPECT_TRUE(CheckServerAddress("soft://a:70").ok());
  EXPECT_TRUE(CheckServerAddress("rdma://[::1]:70").ok());
  EXPECT_EQ(Words(CheckServerAddress("tcp://a:70")), "\"tcp://a:70\": unknown scheme; write host:port");
  EXPECT_EQ(Words(CheckServerAddress("soft://")), "\"soft://\": the port is missing; write host:port");
}

TEST(HostPort, ListsAreReadInOrder) {
  const std::vector<ServerAddress> servers = ParseServerList("b:1, soft://a:2").value();
  ASSERT_EQ(servers.size(), 2u);
  EXPECT_EQ(servers[0].text, "b:1");
  EXPECT_EQ(servers[1].text, "soft://a:2");
  EXPECT_FALSE(ParseServerList("").ok());
  EXPECT_FALSE(ParseServerList("a:1,,b:1").ok());
}

TEST(HostPort, WeightsHaveBounds) {
  EXPECT_EQ(ParseServerWeight("3").value(), 3u);
  EXPECT_EQ(Words(ParseServerWeight("0").status()), "\"0\": the weight is not a number from 1 to 1000000");
  EXPECT_FALSE(ParseServerWeight("-1").ok());
  EXPECT_FALSE(ParseServerWeight("1000001").ok());
}

}  // namespace
}  // namespace verbena::rpc
