#include "rpc/coroutine/start_task.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>

#include "base/block_cache.h"
#include "rpc/coroutine/loop_awaitables.h"
#include "rpc/coroutine/testing/live_count.h"
#include "rpc/coroutine/testing/started.h"
#include "rpc/coroutine/testing/suspension.h"
#include "tests/allocation_count/allocation_count.h"
#include "transport/event_loop.h"

namespace verbena {
namespace {

using testing::LiveCount;
using testing::Started;
using testing::Suspension;

Task<int> Give(int value) { co_return value; }

Task<> Hold(LiveCount::Token, Suspension* suspension) { co_await suspension->Wait(); }

TEST(StartTask, TaskThatNeverSuspendsIsDoneWithinTheCall) { EXPECT_EQ(*Started<int>(Give(7)).outcome(), 7); }

TEST(StartTask, StatusesAreHandedOnAsTheyAre) {
  const auto status = []() -> Task<absl::Status> { co_return absl::NotFoundError("no such order"); };
  const auto status_or = []() -> Task<absl::StatusOr<int>> { co_return absl::NotFoundError("no such order"); };
  EXPECT_EQ(Started<absl::Status>(status()).outcome(), absl::NotFoundError("no such order"));
  EXPECT_EQ(Started<absl::StatusOr<int>>(status_or()).outcome().status(), absl::NotFoundError("no such order"));
}

TEST(StartTask, ExceptionIsInternalAndNamed) {
  const absl::Status expected = absl::InternalError("the coroutine threw: lost");
  const auto nothing = []() -> Task<> {
    throw std::runtime_error("lost");
    co_return;
  };
  const auto status = []() -> Task<absl::Status> {
    throw std::runtime_error("lost");
    co_return absl::OkStatus();
  };
  const auto value = []() -> Task<int> {
    throw std::runtime_error("lost");
    co_return 7;
  };
  EXPECT_EQ(Started<void>(nothing()).outcome(), expected);
  EXPECT_EQ(Started<absl::Status>(status()).outcome(), expected);
  EXPECT_EQ(Started<int>(value()).outcome().status(), expected);
}

TEST(StartTask, FrameIsGoneWhenTheResultIsGiven) {
  LiveCount count;
  Suspension suspension;
  std::optional<int> live;
  const RunningTask running = StartTask(Hold(count.Make(), &suspension), [&](absl::Status) { live = count.live(); });
  EXPECT_FALSE(live.has_value());
  suspension.Continue();
  EXPECT_EQ(live, 0);
}

TEST(StartTask, DestroyingTheHandleCancels) {
  LiveCount count;
  Suspension suspension;
  bool done = false;
  RunningTask running =
      StartTask(Hold(count.Make(), &suspension), [&done, token = count.Make()](absl::Status) { done = true; });
  EXPECT_EQ(count.live(), 2);
  running = {};
  EXPECT_FALSE(suspension.has_waiter());
  EXPECT_EQ(count.live(), 0);
  EXPECT_FALSE(done);
}

TEST(StartTask, DetachedTaskGoesOnAndCleansUp) {
  LiveCount count;
  Suspension suspension;
  bool done = false;
  StartTask(Hold(count.Make(), &suspension), [&done](absl::Status) { done = true; }).Detach();
  suspension.Continue();
  EXPECT_TRUE(done);
  EXPECT_EQ(count.live(), 0);
}

TEST(StartTask, DetachAfterTheEndDoesNothing) {
  int times = 0;
  StartTask(Give(7), [&times](absl::StatusOr<int>) { ++times; }).Detach();
  EXPECT_EQ(times, 1);
  RunningTask().Detach();  // Of no task.
}

TEST(StartTask, CallbackMayDestroyTheHandle) {
  Suspension suspension;
  LiveCount count;
  std::optional<RunningTask> running;
  running = StartTask(Hold(count.Make(), &suspension), [&running](absl::Status) { running.reset(); });
  suspension.Continue();
  EXPECT_FALSE(running.has_value());
  EXPECT_EQ(count.live(), 0);
}

TEST(StartTask, FrameMayHoldTheLastReferenceToTheHandle) {
  struct Session {
    RunningTask running;
  };
  Suspension suspension;
  bool done = false;
  auto session = std::make_shared<Session>();
  const std::weak_ptr<Session> observed = session;
  const auto serve = [&suspension](std::shared_ptr<Session>) -> Task<> { co_await suspension.Wait(); };
  session->running = StartTask(serve(session), [&done](absl::Status) { done = true; });
  session.reset();
  EXPECT_FALSE(observed.expired());
  suspension.Continue();
  EXPECT_TRUE(done);
  EXPECT_TRUE(observed.expired());
}

TEST(StartTask, TakesOneAllocation) {
  Task<int> task = Give(7);
  RunningTask running;
  BlockCache::Clear();
  EXPECT_EQ(testing::AllocationsOf([&] { running = StartTask(std::move(task), [](absl::StatusOr<int>) {}); }), 1u);
}

TEST(StartTask, MayBeDetachedWhileItFinishesOnAnotherThread) {
  auto loop = *transport::EventLoop::Create({});
  constexpr int kTasks = 1000;
  int done = 0;
  const auto hop = [&loop]() -> Task<> { co_await ResumeOn(*loop); };
  std::thread driver([&] { loop->RunUntil([&done] { return done == kTasks; }); });
  for (int i = 0; i < kTasks; ++i) StartTask(hop(), [&done](absl::Status) { ++done; }).Detach();
  driver.join();
  EXPECT_EQ(done, kTasks);
}

}  // namespace
}  // namespace verbena
