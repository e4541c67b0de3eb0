#include "transport/verbs/connection_id.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <ifaddrs.h>

#include <cerrno>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "transport/verbs/fake_verbs_api.h"
#include "transport/verbs/socket_address.h"

namespace verbena::verbs {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

sockaddr_in Ipv4(const char* host, uint16_t port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  inet_pton(AF_INET, host, &address.sin_addr);
  return address;
}

const sockaddr* Raw(const sockaddr_in& address) { return reinterpret_cast<const sockaddr*>(&address); }

absl::Span<const std::byte> Bytes(absl::string_view text) {
  return absl::MakeConstSpan(reinterpret_cast<const std::byte*>(text.data()), text.size());
}

class ConnectionIdTest : public ::testing::Test {
 protected:
  FakeVerbs fake_;
  absl::StatusOr<CmEventChannel> channel_ = CmEventChannel::Create(fake_.api());
  absl::StatusOr<ConnectionId> id_ = ConnectionId::Create(*channel_);
};

TEST_F(ConnectionIdTest, IdGoesOnceAndBeforeItsChannel) {
  {
    absl::StatusOr<CmEventChannel> channel = CmEventChannel::Create(fake_.api());
    absl::StatusOr<ConnectionId> id = ConnectionId::Create(*channel);
    ConnectionId moved = *std::move(id);
  }
  EXPECT_THAT(fake_.destroyed(), ElementsAre("id", "event channel"));
}

TEST_F(ConnectionIdTest, FailedCreationNamesTheTable) {
  fake_.Fail("cm_create_event_channel", ENODEV);
  EXPECT_THAT(CmEventChannel::Create(fake_.api()).status().message(),
              HasSubstr("rdma_create_event_channel failed: No such device (fake)"));
  fake_.Fail("cm_create_id", ENOMEM);
  EXPECT_THAT(ConnectionId::Create(*channel_).status().message(), HasSubstr("rdma_create_id failed"));
}

TEST_F(ConnectionIdTest, ChannelThatCannotBeMadeNonBlockingIsDestroyed) {
  fake_.descriptor = -1;
  EXPECT_FALSE(CmEventChannel::Create(fake_.api()).ok());
  EXPECT_THAT(fake_.destroyed(), ElementsAre("event channel"));
}

TEST_F(ConnectionIdTest, OneBesideAnotherIsBoundToItsAddressAndAnyPort) {
  const sockaddr_in address = Ipv4("192.0.2.1", 7471);
  ASSERT_TRUE(id_->Bind(Raw(address)).ok());
  absl::StatusOr<ConnectionId> beside = ConnectionId::Create(*channel_);
  ASSERT_TRUE(beside->BindBeside(*id_).ok());
  EXPECT_EQ(beside->LocalAddress(), "192.0.2.1:0");
  EXPECT_EQ(id_->LocalPort(), 7471);
}

// Of this machine's own, if it has one.
TEST(SocketAddress, ALinkLocalAddressGetsTheScopeOfItsInterface) {
  ifaddrs* interfaces = nullptr;
  ASSERT_EQ(getifaddrs(&interfaces), 0);
  int found = 0;
  for (const ifaddrs* one = interfaces; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != AF_INET6) continue;
    const auto* own = reinterpret_cast<const sockaddr_in6*>(one->ifa_addr);
    if (!IN6_IS_ADDR_LINKLOCAL(&own->sin6_addr)) continue;
    sockaddr_storage address = {};
    auto* const ipv6 = reinterpret_cast<sockaddr_in6*>(&address);
    *ipv6 = *own;
    ipv6->sin6_scope_id = 0;
    CompleteScope(&address);
    EXPECT_EQ(ipv6->sin6_scope_id, own->sin6_scope_id);
    ++found;
  }
  freeifaddrs(interfaces);
  if (found == 0) GTEST_SKIP() << "no interface has a link-local address";
}

TEST_F(ConnectionIdTest, AddressesAreText) {
  sockaddr_in local = Ipv4("192.0.2.1", 7471);
  sockaddr_in peer = Ipv4("192.0.2.2", 80);
  ASSERT_TRUE(id_->Bind(Raw(local)).ok());
  ASSERT_TRUE(id_->ResolveAddress(nullptr, Raw(peer), absl::Microseconds(1500)).ok());
  EXPECT_EQ(id_->LocalAddress(), "192.0.2.1:7471");
  EXPECT_EQ(id_->LocalPort(), 7471);
  EXPECT_EQ(id_->PeerAddress(), "192.0.2.2:80");
  EXPECT_EQ(fake_.resolve_timeout_ms, 2) << "rounded up: 0 would be at once";
}

TEST_F(ConnectionIdTest, EndlessTimeoutIsTheLongestThatFits) {
  sockaddr_in peer = Ipv4("192.0.2.2", 80);
  ASSERT_TRUE(id_->ResolveAddress(nullptr, Raw(peer), absl::InfiniteDuration()).ok());
  EXPECT_EQ(fake_.resolve_timeout_ms, std::numeric_limits<int>::max());
}

TEST_F(ConnectionIdTest, ParametersReachTheConnectionManager) {
  ConnectionParameters parameters = {.private_data = Bytes("hello"),
                                     .responder_resources = 2,
                                     .initiator_depth = 3,
                                     .retry_count = 4,
                                     .rnr_retry_count = 5};
  ASSERT_TRUE(id_->Connect(parameters).ok());
  EXPECT_EQ(fake_.private_data, "hello");
  EXPECT_EQ(fake_.connect_parameters.responder_resources, 2);
  EXPECT_EQ(fake_.connect_parameters.initiator_depth, 3);
  EXPECT_EQ(fake_.connect_parameters.retry_count, 4);
  EXPECT_EQ(fake_.connect_parameters.rnr_retry_count, 5);
  ASSERT_TRUE(id_->Accept({.private_data = Bytes("welcome")}).ok());
  EXPECT_EQ(fake_.private_data, "welcome");
  ASSERT_TRUE(id_->Reject(Bytes("no")).ok());
  EXPECT_EQ(fake_.private_data, "no");
}

TEST_F(ConnectionIdTest, PrivateDataPastItsLengthFieldIsRefused) {
  std::string long_text(256, 'x');
  EXPECT_TRUE(absl::IsInvalidArgument(id_->Connect({.private_data = Bytes(long_text)})));
  EXPECT_TRUE(absl::IsInvalidArgument(id_->Accept({.private_data = Bytes(long_text)})));
  EXPECT_TRUE(absl::IsInvalidArgument(id_->Reject(Bytes(long_text))));
  EXPECT_EQ(fake_.CountOf("cm_connect") + fake_.CountOf("cm_accept") + fake_.CountOf("cm_reject"), 0);
}

TEST_F(ConnectionIdTest, OptionsAreSetWithTheirOwnSizes) {
  ASSERT_TRUE(id_->SetAckTimeout(absl::Seconds(2)).ok());
  EXPECT_EQ(fake_.option, std::make_pair(int{RDMA_OPTION_ID_ACK_TIMEOUT}, std::string("\x13")));
  ASSERT_TRUE(id_->SetReuseAddress().ok());
  EXPECT_EQ(fake_.option, std::make_pair(int{RDMA_OPTION_ID_REUSEADDR}, std::string("\1\0\0\0", 4)));
}

TEST_F(ConnectionIdTest, AnAckTimeoutIsRoundedUpToWhatDevicesKnow) {
  const std::vector<std::pair<absl::Duration, char>> cases = {
      {absl::Nanoseconds(1), 1},    {absl::Nanoseconds(8192), 1},   {absl::Nanoseconds(8193), 2},
      {absl::Milliseconds(67), 14}, {absl::InfiniteDuration(), 31},
  };
  for (const auto& [timeout, exponent] : cases) {
    ASSERT_TRUE(id_->SetAckTimeout(timeout).ok());
    EXPECT_EQ(fake_.option.second, std::string(1, exponent)) << timeout;
  }
}

TEST_F(ConnectionIdTest, MigratesToAnotherChannel) {
  absl::StatusOr<CmEventChannel> other = CmEventChannel::Create(fake_.api());
  ConnectionId id = *std::move(id_);
  ASSERT_TRUE(id.MigrateTo(*other).ok());
  EXPECT_EQ(id.get()->channel, other->get());
}

TEST_F(ConnectionIdTest, EveryFailureNamesItsCallAndTheAddresses) {
  sockaddr_in address = Ipv4("192.0.2.1", 7471);
  ASSERT_TRUE(id_->Bind(Raw(address)).ok());
  struct Case {
    const char* call;
    const char* name;
    std::function<absl::Status()> run;
  };
  const std::vector<Case> cases = {
      {"cm_bind_addr", "rdma_bind_addr", [&] { return id_->Bind(Raw(address)); }},
      {"cm_listen", "rdma_listen", [&] { return id_->Listen(8); }},
      {"cm_resolve_addr", "rdma_resolve_addr",
       [&] { return id_->ResolveAddress(nullptr, Raw(address), absl::Seconds(1)); }},
      {"cm_resolve_route", "rdma_resolve_route", [&] { return id_->ResolveRoute(absl::Seconds(1)); }},
      {"cm_connect", "rdma_connect", [&] { return id_->Connect({}); }},
      {"cm_accept", "rdma_accept", [&] { return id_->Accept({}); }},
      {"cm_reject", "rdma_reject", [&] { return id_->Reject({}); }},
      {"cm_disconnect", "rdma_disconnect", [&] { return id_->Disconnect(); }},
      {"cm_migrate_id", "rdma_migrate_id", [&] { return id_->MigrateTo(*channel_); }},
      {"cm_set_option", "rdma_set_option(ACK_TIMEOUT)", [&] { return id_->SetAckTimeout(absl::Seconds(1)); }},
      {"cm_set_option", "rdma_set_option(REUSEADDR)", [&] { return id_->SetReuseAddress(); }},
  };
  for (const Case& one : cases) {
    EXPECT_TRUE(one.run().ok()) << one.name;
    fake_.Fail(one.call, EADDRINUSE);
    absl::Status error = one.run();
    EXPECT_THAT(error.message(), HasSubstr(std::string(one.name) + " failed: Address already in use"));
    EXPECT_THAT(error.message(), HasSubstr("192.0.2.1:7471")) << one.name;
  }
}

TEST_F(ConnectionIdTest, ADeviceThatDoesNotKnowItsPeersProcessSaysSo) {
  ASSERT_TRUE(id_->PeerCredentials().ok());
  EXPECT_EQ(id_->PeerCredentials()->uid, 2u);
  fake_.Fail("cm_get_peer_credentials", EOPNOTSUPP);
  EXPECT_EQ(id_->PeerCredentials().status().code(), absl::StatusCode::kUnimplemented);
}

TEST(AddressText, Ipv6StandsInBrackets) {
  sockaddr_in6 address = {};
  address.sin6_family = AF_INET6;
  address.sin6_port = htons(7471);
  inet_pton(AF_INET6, "2001:db8::1", &address.sin6_addr);
  EXPECT_EQ(AddressText(reinterpret_cast<const sockaddr*>(&address)), "[2001:db8::1]:7471");
}

TEST(AddressText, NothingAndOtherFamiliesAreNoAddress) {
  sockaddr address = {};
  address.sa_family = AF_UNIX;
  EXPECT_EQ(AddressText(&address), "(no address)");
  EXPECT_EQ(AddressText(nullptr), "(no address)");
}

}  // namespace
}  // namespace verbena::verbs
