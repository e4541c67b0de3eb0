// Single faults, and how a connection ends by them: soon, in words, with nothing held.

#include <string>

#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "tests/integration/transport_pair.h"
#include "transport/soft/fault_plan.h"

namespace verbena::transport {
namespace {

// Well below the time for which a link waits for completions that never come (link.cc).
constexpr absl::Duration kSoon = absl::Milliseconds(1500);

class FaultyConnection : public testing::TestWithParam<const char*> {
 protected:
  FaultyConnection() { soft::PlanFaultsOfProcess(*soft::ParseFaultPlan(GetParam())); }
  ~FaultyConnection() override { soft::PlanFaultsOfProcess({}); }
};

TEST_P(FaultyConnection, EndsSoonWithEverySendReportedAndNothingHeld) {
  TransportPair pair;
  End* const client = pair.Connect();
  ASSERT_NE(client, nullptr) << pair.status();
  End* const server = pair.accepted(0);
  ASSERT_NE(server, nullptr);
  const absl::Time start = absl::Now();
  client->OnLoop([client](Connection&) {
    for (uint64_t i = 0; i < 20; ++i) client->Reply(i, absl::Cord(std::string(i % 2 == 0 ? 100 : 100000, 'x')));
  });
  ASSERT_TRUE(client->WaitForClosed());
  EXPECT_LT(absl::Now() - start, kSoon);
  ASSERT_TRUE(server->WaitForClosed());
  EXPECT_FALSE(client->closed_status().ok());
  EXPECT_EQ(client->sent().size(), 20u);
  pair.Close();
  EXPECT_EQ(ReadTransportCounters().exported_bytes, 0u);
  EXPECT_EQ(ReadTransportCounters().credits_granted, 0u);
}

INSTANTIATE_TEST_SUITE_P(OfTheClient, FaultyConnection,
                         testing::Values("qp=1,request=5:refuse", "qp=1,request=5:disconnect",
                                         "qp=1,request=5:fail=REM_ACCESS_ERR"));
INSTANTIATE_TEST_SUITE_P(OfACompletionQueue, FaultyConnection,
                         testing::Values("cq=1,completion=9:overrun", "cq=2,completion=9:overrun"));
INSTANTIATE_TEST_SUITE_P(OfTheServer, FaultyConnection,
                         testing::Values("qp=2,request=5:refuse", "qp=2,request=5:disconnect",
                                         "qp=2,request=5:fail=REM_ACCESS_ERR"));

}  // namespace
}  // namespace verbena::transport
