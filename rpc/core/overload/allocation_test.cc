// What waiting costs once the queue has grown: no allocation.

#include <gtest/gtest.h>

#include "rpc/core/overload/call_queue.h"
#include "tests/allocation_count/allocation_count.h"

namespace verbena::rpc {
namespace {

constexpr int kCalls = 1000;
constexpr uint64_t kClients = 16;

TEST(CallQueueAllocation, CallsThatComeAndGoAllocateNothing) {
  CallQueue queue({64, absl::Milliseconds(100), absl::Milliseconds(5)});
  const absl::Time now = absl::UnixEpoch();
  int runs = 0;
  const auto come_and_go = [&] {
    for (int call = 0; call < kCalls; ++call) {
      queue.Push(
          ClientId{static_cast<uint64_t>(call) % kClients}, [&runs](absl::Status) { ++runs; }, now);
      if (call % 32 >= 16) {
        queue.Pop()(absl::OkStatus());
        queue.Pop()(absl::OkStatus());
      }
    }
    while (CallQueue::Task task = queue.Pop()) task(absl::OkStatus());
  };
  come_and_go();
  EXPECT_EQ(testing::AllocationsOf(come_and_go), 0u);
  EXPECT_EQ(runs, 2 * kCalls);
}

}  // namespace
}  // namespace verbena::rpc
