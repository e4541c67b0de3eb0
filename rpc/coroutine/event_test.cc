#include "rpc/coroutine/event.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>

#include "base/block_cache.h"
#include "rpc/coroutine/start_task.h"
#include "rpc/coroutine/task.h"
#include "rpc/coroutine/testing/started.h"
#include "rpc/testing/manual_loop.h"
#include "tests/allocation_count/allocation_count.h"

namespace verbena {
namespace {

using testing::AllocationsOf;
using testing::ManualLoop;
using testing::Started;

Task<> WaitThenLog(OneShotEvent* event, std::string name, std::string* log) {
  co_await event->Wait();
  *log += name;
}

TEST(OneShotEvent, ThoseWhoWaitGoOnInTheOrderInWhichTheyCame) {
  ManualLoop loop;
  OneShotEvent event(loop);
  std::string log;
  const Started<void> a(WaitThenLog(&event, "a", &log)), b(WaitThenLog(&event, "b", &log));
  loop.RunUntilIdle();
  EXPECT_EQ(log, "");
  event.Set();
  loop.RunUntilIdle();
  EXPECT_EQ(log, "ab");
}

TEST(OneShotEvent, NobodyGoesOnWithinSet) {
  ManualLoop loop;
  OneShotEvent event(loop);
  std::string log;
  const Started<void> waiting(WaitThenLog(&event, "a", &log));
  event.Set();
  EXPECT_EQ(log, "");
}

TEST(OneShotEvent, OnceSetNobodyWaits) {
  ManualLoop loop;
  OneShotEvent event(loop);
  EXPECT_FALSE(event.is_set());
  event.Set();
  event.Set();
  EXPECT_TRUE(event.is_set());
  std::string log;
  const Started<void> started(WaitThenLog(&event, "a", &log));
  EXPECT_TRUE(started.has_finished());
}

TEST(OneShotEvent, DestroyedWaiterWaitsNoMore) {
  ManualLoop loop;
  OneShotEvent event(loop);
  std::string log;
  Started<void> a(WaitThenLog(&event, "a", &log)), b(WaitThenLog(&event, "b", &log)), c(WaitThenLog(&event, "c", &log));
  b.Cancel();
  event.Set();
  c.Cancel();  // Between Set and its turn.
  loop.RunUntilIdle();
  EXPECT_EQ(log, "a");
  EXPECT_EQ(loop.timers(), 0u);
}

TEST(OneShotEvent, MayBeDestroyedRightAfterSet) {
  ManualLoop loop;
  std::optional<OneShotEvent> event(std::in_place, loop);
  std::string log;
  const Started<void> waiting(WaitThenLog(&*event, "a", &log));
  event->Set();
  event.reset();
  loop.RunUntilIdle();
  EXPECT_EQ(log, "a");
}

TEST(OneShotEvent, DestroyedUnsetItLeavesItsWaitersSuspended) {
  ManualLoop loop;
  std::optional<OneShotEvent> event(std::in_place, loop);
  std::string log;
  Started<void> a(WaitThenLog(&*event, "a", &log)), b(WaitThenLog(&*event, "b", &log));
  event.reset();
  a.Cancel();
  loop.RunUntilIdle();
  EXPECT_EQ(log, "");
  EXPECT_FALSE(b.has_finished());
}

TEST(OneShotEvent, WaitingTakesNoAllocation) {
  ManualLoop loop;
  OneShotEvent event(loop);
  std::string log;
  Task<> task = WaitThenLog(&event, "a", &log);
  RunningTask running;
  BlockCache::Clear();
  EXPECT_EQ(AllocationsOf([&] { running = StartTask(std::move(task), [](absl::Status) {}); }), 1u);  // StartTask's own.
}

}  // namespace
}  // namespace verbena
