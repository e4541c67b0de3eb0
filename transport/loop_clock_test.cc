#include "transport/loop_clock.h"

#include "absl/time/clock.h"
#include "gtest/gtest.h"

namespace verbena::transport {
namespace {

TEST(LoopClock, AReadingTellsTheTimeThatHasPassed) {
  LoopClock clock;
  const absl::Time before = clock.now();
  absl::SleepFor(absl::Milliseconds(2));
  clock.Read();
  EXPECT_GE(clock.now() - before, absl::Milliseconds(2));
}

TEST(LoopClock, AMillisecondLaterItIsReadAgain) {
  LoopClock clock;
  const absl::Time before = clock.now();
  LoopClock watch;
  while (watch.now() - before < absl::Milliseconds(2)) watch.Read();  // Awake, so that the counter counts.
  clock.ReadUnlessRecent();
  EXPECT_GE(clock.now() - before, absl::Milliseconds(2));
}

#if defined(__x86_64__) || defined(__aarch64__)
TEST(LoopClock, ARecentReadingIsKept) {
  LoopClock clock;
  int kept = 0;
  for (int i = 0; i < 1000; ++i) {
    clock.Read();
    const absl::Time before = clock.now();
    clock.ReadUnlessRecent();
    if (clock.now() == before) ++kept;
  }
  EXPECT_GT(kept, 500);  // All, but for moments when the machine does something else in between.
}
#endif

}  // namespace
}  // namespace verbena::transport
