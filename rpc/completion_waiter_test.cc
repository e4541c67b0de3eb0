// With threads that sleep; cooperative ones wait in turn_executor_test and overload_test.

#include "rpc/completion_waiter.h"

#include <memory>
#include <thread>

#include "gtest/gtest.h"

namespace verbena::rpc {
namespace {

TEST(CompletionWaiter, WhoSleepsIsWokenWithTheStatus) {
  CompletionWaiter waiter;
  EXPECT_FALSE(waiter.done());
  std::thread bringer([&waiter] { waiter.Complete(absl::DataLossError("torn")); });
  EXPECT_EQ(waiter.Wait(), absl::DataLossError("torn"));
  bringer.join();
}

TEST(CompletionWaiter, StaysCompleteForASecondWait) {
  CompletionWaiter waiter;
  waiter.Complete(absl::DataLossError("torn"));
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(waiter.done());
    EXPECT_EQ(waiter.Wait(), absl::DataLossError("torn"));
  }
}

TEST(CompletionWaiter, MayBeDestroyedAsSoonAsWaitReturns) {
  for (int i = 0; i < 1000; ++i) {
    auto waiter = std::make_unique<CompletionWaiter>();
    std::thread bringer([waiter = waiter.get()] { waiter->Complete(absl::OkStatus()); });
    EXPECT_EQ(waiter->Wait(), absl::OkStatus());
    waiter = nullptr;
    bringer.join();
  }
}

TEST(SharedCompletion, DroppedUncalledBringsCancelled) {
  const auto waiter = std::make_shared<CompletionWaiter>();
  { const SharedCompletion dropped(waiter); }
  EXPECT_EQ(waiter->Wait().code(), absl::StatusCode::kCancelled);
}

}  // namespace
}  // namespace verbena::rpc
