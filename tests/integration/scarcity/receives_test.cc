// A device that refuses to post receives for a while.

#include <algorithm>
#include <cstdint>

#include "absl/strings/cord.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "tests/integration/transport_pair.h"
#include "transport/endpoint.h"
#include "transport/soft/fault_plan.h"

namespace verbena::transport {
namespace {

constexpr uint64_t kReceives = 16;
constexpr uint64_t kCalls = 10 * kReceives;

// The receive that comes `receive`-th in the process's first queue is refused so many times.
soft::FaultPlan Refusals(uint64_t receive, int times) {
  return soft::FaultPlan(times, {.kind = soft::FaultKind::kRefuseSharedReceive, .object = 1, .operation = receive});
}

// Nothing but time helps: who has no credit sends nothing that would wake the other end's loop.
TEST(RefusedReceives, ArePostedSoonAfterTheDeviceTakesThem) {
  TransportOptions options = TestOptions();
  options.receive_buffers = kReceives;
  soft::PlanFaultsOfProcess(Refusals(/*receive=*/5 * kReceives, /*times=*/60));
  TransportPair pair(options);  // Its loops sleep whenever they can.
  pair.prepare_accepted = [](End& end) {
    end.on_message = [](End& self, const End::Message& message) { self.Reply(message.call_id, absl::Cord("pong")); };
  };
  End* const client = pair.Connect();
  ASSERT_NE(client, nullptr) << pair.status();
  absl::Duration longest;
  for (uint64_t call = 1; call <= kCalls; ++call) {
    const absl::Time began = absl::Now();
    client->Send(call, absl::Cord("ping"));
    ASSERT_TRUE(client->WaitForMessages(call));
    longest = std::max(longest, absl::Now() - began);
  }
  EXPECT_GT(longest, absl::Milliseconds(20));  // They were refused.
  EXPECT_LT(longest, absl::Seconds(5));
  soft::PlanFaultsOfProcess({});
}

}  // namespace
}  // namespace verbena::transport
