// Peers that do not answer READs, while the window of what is fetched at a time is theirs: they hold up nobody else.
//
// On the software device, whose fault plan makes their queue pairs silent.

#include <string>
#include <vector>

#include "absl/strings/cord.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/integration/transport_pair.h"
#include "tests/integration/wait_until.h"
#include "transport/soft/fault_plan.h"

namespace verbena::transport {
namespace {

using ::testing::Each;
using ::testing::NotNull;

constexpr uint64_t kMessageBytes = 1 << 20;
constexpr size_t kSilent = 2;                 // Messages of that length fill the window, however small it is.
constexpr uint32_t kForEver = 1'000'000'000;  // Polls.

// The READ is what the accepting end posts first; its queue pairs are each second one.
void SilenceFirstReadsOf(size_t connections) {
  soft::FaultPlan plan;
  for (uint32_t i = 0; i < connections; ++i) {
    plan.push_back({.kind = soft::FaultKind::kDelay, .object = 2 * (i + 1), .operation = 1, .amount = kForEver});
  }
  soft::PlanFaultsOfProcess(plan);
}

TransportOptions Options() {
  TransportOptions options = TestOptions();
  options.keepalive_interval = absl::ZeroDuration();  // It would end them.
  return options;
}

absl::Cord Message(uint64_t bytes) { return absl::Cord(std::string(bytes, 'x')); }

bool LandingBytesReach(uint64_t bytes) {
  return WaitUntil([bytes] { return ReadTransportCounters().landing_bytes >= bytes; }, End::kPatience);
}

class UnansweredReads : public testing::Test {
 protected:
  UnansweredReads() { SilenceFirstReadsOf(kSilent); }
  ~UnansweredReads() override { soft::PlanFaultsOfProcess({}); }

  // The first kSilent of them are silent.
  static std::vector<End*> Connect(TransportPair& pair, size_t connections) {
    std::vector<End*> ends(connections);
    for (End*& end : ends) EXPECT_NE(end = pair.Connect(), nullptr) << pair.status();
    return ends;
  }
};

TEST_F(UnansweredReads, HoldUpNobodyElse) {
  TransportPair pair(Options());
  const std::vector<End*> ends = Connect(pair, kSilent + 1);
  ASSERT_THAT(ends, Each(NotNull()));
  for (size_t i = 0; i < kSilent; ++i) ends[i]->Send(1, Message(kMessageBytes));
  ASSERT_TRUE(LandingBytesReach(kSilent * kMessageBytes));
  for (uint64_t i = 0; i < 3; ++i) ends[kSilent]->Send(i, Message(kMessageBytes));
  ASSERT_TRUE(pair.accepted(kSilent)->WaitForMessages(3));
  for (size_t i = 0; i < kSilent; ++i) EXPECT_TRUE(pair.accepted(i)->messages().empty());
}

// In the room that they leave there is place for the second, not for the first.
TEST_F(UnansweredReads, LetMessagesOfOneCallComeInTheirOrder) {
  constexpr uint64_t kSmall = 9 << 10;  // As small as is fetched.
  constexpr uint64_t kFirstTakes = 20 << 10;
  TransportOptions options = Options();
  options.fetch_window_bytes = 64 << 10;
  TransportPair pair(options);
  const std::vector<End*> ends = Connect(pair, kSilent + 1);
  ASSERT_THAT(ends, Each(NotNull()));
  ends[0]->Send(1, Message(kFirstTakes));
  ends[1]->Send(1, Message(kMessageBytes));
  ASSERT_TRUE(LandingBytesReach(kFirstTakes + kMessageBytes));
  ends[kSilent]->Send(9, Message(kMessageBytes));
  ends[kSilent]->Send(9, Message(kSmall));
  End* const served = pair.accepted(kSilent);
  ASSERT_TRUE(served->WaitForMessages(2));
  EXPECT_EQ(served->messages()[0].payload.size(), kMessageBytes);
  EXPECT_EQ(served->messages()[1].payload.size(), kSmall);
}

}  // namespace
}  // namespace verbena::transport
