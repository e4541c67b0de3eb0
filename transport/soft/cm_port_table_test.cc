#include "transport/soft/cm_port_table.h"

#include <cerrno>

#include "gtest/gtest.h"
#include "transport/soft/cm_id.h"
#include "transport/soft/cm_socket.h"

namespace verbena::soft {
namespace {

class PortTableTest : public ::testing::Test {
 protected:
  static SocketAddress V4(uint8_t last, uint16_t port) {
    SocketAddress address = SocketAddress::Wildcard(AF_INET, port);
    address.address = {127, 0, 0, last};
    return address;
  }

  int Bind(CmId& id, SocketAddress address, bool ipv6_only = false) {
    int error = table_.Bind(&id, &address, ipv6_only);
    if (error == 0) port_ = address.port;
    return error;
  }
  SocketAddress Any4() const { return SocketAddress::Wildcard(AF_INET, port_); }
  SocketAddress Any6() const { return SocketAddress::Wildcard(AF_INET6, port_); }

  CmId one_{RDMA_PS_TCP};
  CmId two_{RDMA_PS_TCP};
  CmId three_{RDMA_PS_TCP};
  PortTable table_;
  uint16_t port_ = 0;  // What the last Bind got.
};

TEST_F(PortTableTest, ChosenPortIsInRangeAndUnique) {
  ASSERT_EQ(Bind(one_, Any4()), 0);
  EXPECT_GE(port_, kChosenPortMin);
  EXPECT_LE(port_, kChosenPortMax);
  EXPECT_EQ(table_.PortOf(&one_), port_);
  ASSERT_EQ(Bind(two_, SocketAddress::Wildcard(AF_INET, 0)), 0);
  EXPECT_NE(table_.PortOf(&two_), table_.PortOf(&one_));
}

TEST_F(PortTableTest, SameAddressTwiceIsInUse) {
  ASSERT_EQ(Bind(one_, V4(1, 0)), 0);
  EXPECT_EQ(Bind(two_, V4(1, port_)), EADDRINUSE);
}

TEST_F(PortTableTest, WildcardConflictsWithSpecificAddressEitherWay) {
  ASSERT_EQ(Bind(one_, V4(1, 0)), 0);
  EXPECT_EQ(Bind(two_, Any4()), EADDRINUSE);
  table_.Release(&one_);
  ASSERT_EQ(Bind(two_, Any4()), 0);
  EXPECT_EQ(Bind(one_, V4(1, port_)), EADDRINUSE);
}

TEST_F(PortTableTest, Ipv6WildcardConflictsWithIpv4UnlessIpv6Only) {
  ASSERT_EQ(Bind(one_, Any4()), 0);
  EXPECT_EQ(Bind(two_, Any6()), EADDRINUSE);
  EXPECT_EQ(Bind(two_, Any6(), /*ipv6_only=*/true), 0);
}

TEST_F(PortTableTest, DifferentSpecificAddressesShareAPort) {
  ASSERT_EQ(Bind(one_, V4(1, 0)), 0);
  ASSERT_EQ(Bind(two_, V4(2, port_)), 0);
  ASSERT_EQ(table_.Listen(&one_), 0);
  ASSERT_EQ(table_.Listen(&two_), 0);
  EXPECT_EQ(table_.FindListener(V4(1, port_)), &one_);
  EXPECT_EQ(table_.FindListener(V4(2, port_)), &two_);
  EXPECT_EQ(table_.FindListener(V4(3, port_)), nullptr);
}

TEST_F(PortTableTest, WildcardListenerTakesEveryAddressOfItsFamilies) {
  ASSERT_EQ(Bind(one_, SocketAddress::Wildcard(AF_INET6, 0)), 0);
  EXPECT_EQ(table_.FindListener(V4(1, port_)), nullptr) << "bound, but not listening";
  ASSERT_EQ(table_.Listen(&one_), 0);
  EXPECT_EQ(table_.FindListener(V4(1, port_)), &one_);
  EXPECT_EQ(table_.FindListener(Any6().AsDestination()), &one_);
}

TEST_F(PortTableTest, ReleasedPortIsFreeForAnotherTable) {
  ASSERT_EQ(Bind(one_, Any4()), 0);
  PortTable other;
  SocketAddress same = Any4();
  EXPECT_EQ(other.Bind(&two_, &same, false), EADDRINUSE) << "as for another process";
  table_.Release(&one_);
  EXPECT_TRUE(table_.SocketsOf(&one_).empty());
  EXPECT_EQ(other.Bind(&two_, &same, false), 0);
}

TEST_F(PortTableTest, OtherProcessesMayHaveOtherAddressesOfAPort) {
  ASSERT_EQ(Bind(one_, V4(1, 0)), 0);
  PortTable other;
  SocketAddress wildcard = Any4();
  EXPECT_EQ(other.Bind(&two_, &wildcard, false), 0);
  SocketAddress specific = V4(2, port_);
  EXPECT_EQ(table_.Bind(&three_, &specific, false), 0);
}

TEST_F(PortTableTest, Ipv6WildcardHoldsThatOfIpv4AgainstOtherProcesses) {
  ASSERT_EQ(Bind(one_, SocketAddress::Wildcard(AF_INET6, 0)), 0);
  EXPECT_EQ(table_.SocketsOf(&one_).size(), 2u);
  PortTable other;
  SocketAddress wildcard = Any4();
  EXPECT_EQ(other.Bind(&two_, &wildcard, false), EADDRINUSE);
  table_.Release(&one_);
  ASSERT_EQ(Bind(one_, Any6(), /*ipv6_only=*/true), 0);
  EXPECT_EQ(other.Bind(&two_, &wildcard, false), 0);
}

}  // namespace
}  // namespace verbena::soft
