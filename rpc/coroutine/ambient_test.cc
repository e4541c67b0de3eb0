#include "rpc/coroutine/ambient.h"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "rpc/coroutine/loop_awaitables.h"
#include "rpc/coroutine/start_task.h"
#include "rpc/coroutine/task.h"
#include "rpc/coroutine/when_all.h"
#include "rpc/testing/manual_loop.h"

namespace verbena::coroutine {
namespace {

using testing::ManualLoop;

const int first = 1;
const int second = 2;

TEST(AmbientScope, InnermostCounts) {
  EXPECT_EQ(AmbientScope::current(), nullptr);
  const AmbientScope outer(&first);
  {
    const AmbientScope inner(&second);
    EXPECT_EQ(AmbientScope::current(), &second);
  }
  EXPECT_EQ(AmbientScope::current(), &first);
}

TEST(AmbientScope, ForgottenValueIsNobodysInEveryScope) {
  const AmbientScope outer(&first);
  const AmbientScope other(&second);
  const AmbientScope inner(&first);
  AmbientScope::Forget(&first);
  EXPECT_EQ(AmbientScope::current(), nullptr);
}

Task<void> NoteAfterSleep(ManualLoop& loop, std::vector<const void*>& seen) {
  seen.push_back(AmbientScope::current());
  co_await SleepFor(loop, absl::Seconds(1));
  seen.push_back(AmbientScope::current());
}

TEST(Ambient, TaskThatGoesOnWorksForWhomItBegan) {
  ManualLoop loop;
  std::vector<const void*> seen;
  StartTaskFor(&first, NoteAfterSleep(loop, seen), [](absl::Status) {}).Detach();
  loop.Advance(absl::Seconds(2));
  EXPECT_EQ(seen, (std::vector<const void*>{&first, &first}));
  EXPECT_EQ(AmbientScope::current(), nullptr);
}

Task<void> BothSleep(ManualLoop& loop, std::vector<const void*>& seen) {
  co_await WhenAll(NoteAfterSleep(loop, seen), NoteAfterSleep(loop, seen));
  seen.push_back(AmbientScope::current());
}

TEST(Ambient, TasksThatItAwaitsDoSoToo) {
  ManualLoop loop;
  std::vector<const void*> seen;
  StartTaskFor(&first, BothSleep(loop, seen), [](absl::Status) {}).Detach();
  loop.Advance(absl::Seconds(2));
  EXPECT_EQ(seen, std::vector<const void*>(5, &first));
}

TEST(Ambient, TaskThatIsStartedByItselfWorksForNobody) {
  ManualLoop loop;
  std::vector<const void*> seen;
  const AmbientScope scope(&first);
  const RunningTask task = StartTask(NoteAfterSleep(loop, seen), [](absl::Status) {});
  EXPECT_EQ(seen, std::vector<const void*>{nullptr});
  EXPECT_EQ(AmbientScope::current(), &first);
}

TEST(Ambient, HopKeepsIt) {
  ManualLoop loop;
  std::optional<const void*> seen;
  const auto hop = [](ManualLoop& to, std::optional<const void*>& found) -> Task<void> {
    co_await ResumeOn(to);
    found = AmbientScope::current();
  };
  StartTaskFor(&second, hop(loop, seen), [](absl::Status) {}).Detach();
  EXPECT_FALSE(seen.has_value());
  loop.RunUntilIdle();
  EXPECT_EQ(seen, &second);
}

}  // namespace
}  // namespace verbena::coroutine
