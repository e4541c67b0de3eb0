// Peers that do not answer READs, while the window of what is fetched at a time is theirs: they hold up nobody else.
//
// On the software device, whose fault plan makes their queue pairs silent.

#include <memory>
#include <string>

#include "absl/cleanup/cleanup.h"
#include "gtest/gtest.h"
#include "tests/integration/transport_pair.h"
#include "tests/integration/wait_until.h"
#include "transport/soft/fault_plan.h"

namespace verbena::transport {
namespace {

constexpr uint64_t kMessageBytes = 1 << 20;
constexpr uint64_t kWindowMessages = 2;       // Of that length, however small the window.
constexpr uint32_t kForEver = 1'000'000'000;  // Polls.

// The READ is what the accepting end posts first; its queue pairs are each second one.
void SilenceFirstReadsOf(uint64_t connections) {
  soft::FaultPlan plan;
  for (uint32_t i = 0; i < connections; ++i) {
    plan.push_back({.kind = soft::FaultKind::kDelay, .object = 2 * (i + 1), .operation = 1, .amount = kForEver});
  }
  soft::PlanFaultsOfProcess(plan);
}

TEST(UnansweredReads, HoldUpNobodyElse) {
  SilenceFirstReadsOf(kWindowMessages);
  const absl::Cleanup no_faults = [] { soft::PlanFaultsOfProcess({}); };
  TransportOptions options = TestOptions();
  options.keepalive_interval = absl::ZeroDuration();  // It would end them.
  TransportPair pair(options);
  for (uint64_t i = 0; i < kWindowMessages; ++i) {
    End* const silent = pair.Connect();
    ASSERT_NE(silent, nullptr) << pair.status();
    silent->Send(1, absl::Cord(std::string(kMessageBytes, 's')));
  }
  ASSERT_TRUE(WaitUntil([] { return ReadTransportCounters().landing_bytes > kWindowMessages * kMessageBytes; },
                        End::kPatience));

  End* const other = pair.Connect();
  ASSERT_NE(other, nullptr) << pair.status();
  const std::string bytes(kMessageBytes, 'o');
  for (uint64_t i = 0; i < 3; ++i) other->Send(i, absl::Cord(bytes));
  ASSERT_TRUE(pair.accepted(kWindowMessages)->WaitForMessages(3));
  for (size_t i = 0; i < kWindowMessages; ++i) EXPECT_TRUE(pair.accepted(i)->messages().empty());
}

}  // namespace
}  // namespace verbena::transport
