#include "benchmarks/yardstick/open_schedule.h"

#include "gtest/gtest.h"

namespace verbena::benchmarks {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr OpenSchedule::Clock::time_point kBegin{seconds(1000)};

TEST(OpenSchedule, FirstCallIsDueAtTheBeginning) { EXPECT_EQ(OpenSchedule(100, kBegin).next(), kBegin); }

TEST(OpenSchedule, CallsAreEvenlySpaced) {
  OpenSchedule schedule(100, kBegin);
  for (int call = 0; call < 5; ++call) EXPECT_EQ(schedule.Take(), kBegin + milliseconds(10 * call));
  EXPECT_EQ(schedule.next(), kBegin + milliseconds(50));
  EXPECT_EQ(schedule.taken(), 5u);
}

TEST(OpenSchedule, CallsThatWereLateKeepTheirInstants) {
  OpenSchedule schedule(1000, kBegin);
  const OpenSchedule::Clock::time_point late = kBegin + milliseconds(3);
  uint64_t due = 0;
  for (; schedule.next() <= late; schedule.Take()) ++due;
  EXPECT_EQ(due, 4u);
  EXPECT_EQ(schedule.next(), kBegin + milliseconds(4));
}

TEST(OpenSchedule, RateWithoutAWholePeriodDoesNotDrift) {
  OpenSchedule schedule(3e6, kBegin);
  while (schedule.taken() < 30'000'000) schedule.Take();
  EXPECT_EQ(schedule.next(), kBegin + seconds(10));
}

}  // namespace
}  // namespace verbena::benchmarks
