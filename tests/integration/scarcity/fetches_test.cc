// Two connections to a loop that has landing memory for the messages of one of them.

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/cord.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/integration/held.h"
#include "tests/integration/transport_pair.h"
#include "tests/integration/wait_until.h"
#include "transport/endpoint.h"
#include "transport/soft/fault_plan.h"

namespace verbena::transport {
namespace {

constexpr size_t kLanding = 1 << 20;
constexpr size_t kLarge = 900 << 10;

class ScarceLanding : public testing::Test {
 protected:
  // What goes over the first connection goes byte by byte, about one in a microsecond.
  void Connect(absl::Duration memory_wait_timeout) {
    TransportOptions options = TestOptions();
    options.fetch_bytes_max = kLanding;
    options.memory_wait_timeout = memory_wait_timeout;
    pair_.emplace(options);
    pair_->prepare_accepted = [](End& end) { end.keeps_payloads = false; };
    soft::PlanFaultsOfProcess({{.kind = soft::FaultKind::kTrickle, .amount = 1}});
    slow_ = pair_->Connect();
    ASSERT_NE(slow_, nullptr) << pair_->status();
    ASSERT_NE(pair_->accepted(0), nullptr);
    soft::PlanFaultsOfProcess({});
    other_ = pair_->Connect();
    ASSERT_NE(other_, nullptr) << pair_->status();
    ASSERT_NE(pair_->accepted(1), nullptr);
  }
  // The slow one sends so many messages, for which the server takes three eighths of its landing memory at least: all
  // but one have to be finished before it takes some for a large one.
  void SendOnSlow(uint64_t messages, size_t bytes) {
    for (uint64_t i = 1; i <= messages; ++i) slow_->Send(i, absl::Cord(std::string(bytes, 'x')));
    ASSERT_TRUE(WaitUntil([] { return ReadTransportCounters().landing_bytes > kLanding * 3 / 8; }, End::kPatience));
  }

  std::optional<TransportPair> pair_;
  End* slow_ = nullptr;
  End* other_ = nullptr;
};

TEST_F(ScarceLanding, WhoseMessagesAreNotReadLosesTheConnectionWhenOthersHaveWaited) {
  ASSERT_NO_FATAL_FAILURE(Connect(/*memory_wait_timeout=*/absl::Milliseconds(300)));
  ASSERT_NO_FATAL_FAILURE(SendOnSlow(1, /*bytes=*/64 << 20));
  other_->Send(1, absl::Cord(std::string(kLarge, 'y')));
  EXPECT_TRUE(other_->WaitForSent(1));
  EXPECT_EQ(other_->sent()[0].second, SendOutcome::kDelivered);
  ASSERT_TRUE(pair_->accepted(0)->WaitForClosed());
  EXPECT_THAT(std::string(pair_->accepted(0)->closed_status().message()), testing::HasSubstr("has been read within"));
  pair_->Close();
  EXPECT_EQ(DescribeHeld(), "");
}

TEST_F(ScarceLanding, WhoIsSlowAndFinishesMessagesIsLeftAlone) {
  constexpr uint64_t kMessages = 30;  // Each takes about a tenth of a second.
  constexpr absl::Duration kTimeout = absl::Milliseconds(700);
  ASSERT_NO_FATAL_FAILURE(Connect(kTimeout));
  ASSERT_NO_FATAL_FAILURE(SendOnSlow(kMessages, /*bytes=*/80'000));
  const absl::Time began = absl::Now();
  other_->Send(1, absl::Cord(std::string(kLarge, 'y')));
  EXPECT_TRUE(other_->WaitForSent(1));
  const absl::Duration waited = absl::Now() - began;
  EXPECT_TRUE(slow_->WaitForSent(kMessages));
  EXPECT_EQ(slow_->sent().back().second, SendOutcome::kDelivered);
  if (waited < kTimeout) GTEST_SKIP() << "this machine is so fast that nobody would be judged";
}

}  // namespace
}  // namespace verbena::transport
