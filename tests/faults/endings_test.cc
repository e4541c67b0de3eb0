// Single faults, and how a connection ends by them: soon, in words, with nothing held.

#include <map>
#include <set>
#include <string>
#include <vector>

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

  // Of a client that sends messages of these sizes at once.
  void ExpectEndsSoonWithEverySendReportedAndNothingHeld(const std::vector<size_t>& sizes) {
    TransportPair pair;
    End* const client = pair.Connect();
    ASSERT_NE(client, nullptr) << pair.status();
    End* const server = pair.accepted(0);
    ASSERT_NE(server, nullptr);
    const absl::Time start = absl::Now();
    client->OnLoop([&](Connection&) {
      for (uint64_t i = 0; i < sizes.size(); ++i) client->Reply(i, absl::Cord(std::string(sizes[i], 'x')));
    });
    ASSERT_TRUE(client->WaitForClosed());
    EXPECT_LT(absl::Now() - start, kSoon);
    ASSERT_TRUE(server->WaitForClosed());
    EXPECT_FALSE(client->closed_status().ok());
    const auto sent = client->sent();
    outcomes_.insert(sent.begin(), sent.end());
    EXPECT_EQ(sent.size(), sizes.size());
    EXPECT_EQ(outcomes_.size(), sizes.size());
    for (const End::Message& message : server->messages()) received_.insert(message.call_id);
    for (const auto& [id, outcome] : outcomes_) {
      EXPECT_FALSE(received_.contains(id) && outcome == SendOutcome::kNotSent) << id;
      EXPECT_FALSE(!received_.contains(id) && outcome == SendOutcome::kDelivered) << id;
    }
    pair.Close();
    EXPECT_EQ(ReadTransportCounters().exported_bytes, 0u);
    EXPECT_EQ(ReadTransportCounters().credits_granted, 0u);
  }

  std::map<uint64_t, SendOutcome> outcomes_;  // By call id.
  std::set<uint64_t> received_;
};

TEST_P(FaultyConnection, EndsSoonWithEverySendReportedAndNothingHeld) {
  std::vector<size_t> sizes(20, 100);
  for (size_t i = 1; i < sizes.size(); i += 2) sizes[i] = 100000;
  ExpectEndsSoonWithEverySendReportedAndNothingHeld(sizes);
}

using FaultyPackedSend = FaultyConnection;

// More messages than there are credits for, of which the first SENDs carry many each.
TEST_P(FaultyPackedSend, EndsSoonWithEverySendReportedAndNothingHeld) {
  constexpr uint64_t kMessages = 5000;  // SENDs enough to exceed what any connection is granted.
  const uint64_t packed_before = ReadTransportCounters().frames_packed;
  ExpectEndsSoonWithEverySendReportedAndNothingHeld(std::vector<size_t>(kMessages, 100));
  EXPECT_GT(ReadTransportCounters().frames_packed, packed_before);
  EXPECT_GT(received_.size(), 1u) << "those of the first SEND";
  EXPECT_EQ(outcomes_.at(kMessages - 1), SendOutcome::kNotSent) << "it waits for credits";
  EXPECT_EQ(outcomes_.at(received_.size()), SendOutcome::kUnknown) << "of the SEND that failed";
}

INSTANTIATE_TEST_SUITE_P(OfTheClient, FaultyConnection,
                         testing::Values("qp=1,request=5:refuse", "qp=1,request=5:disconnect",
                                         "qp=1,request=5:fail=REM_ACCESS_ERR"));
INSTANTIATE_TEST_SUITE_P(OfACompletionQueue, FaultyConnection,
                         testing::Values("cq=1,completion=9:overrun", "cq=2,completion=9:overrun"));
INSTANTIATE_TEST_SUITE_P(OfTheServer, FaultyConnection,
                         testing::Values("qp=2,request=5:refuse", "qp=2,request=5:disconnect",
                                         "qp=2,request=5:fail=REM_ACCESS_ERR"));

INSTANTIATE_TEST_SUITE_P(OfTheClient, FaultyPackedSend,
                         testing::Values("qp=1,request=2:refuse", "qp=1,request=2:disconnect",
                                         "qp=1,request=2:fail=REM_ACCESS_ERR"));

}  // namespace
}  // namespace verbena::transport
