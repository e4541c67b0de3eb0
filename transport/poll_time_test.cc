#include "transport/poll_time.h"

#include <algorithm>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace verbena::transport {
namespace {

constexpr absl::Duration kMost = absl::Microseconds(50);
constexpr absl::Duration kWakeUp = absl::Microseconds(30);
constexpr int kSeeds = 20;

using Random = std::mt19937_64;

absl::Duration Exponential(Random& random, absl::Duration mean) {
  return mean * std::exponential_distribution<double>()(random);
}

// What a loop did, in virtual time, that waited by a PollTime.
struct Waiting {
  PollTime poll_time{kMost};
  int waits = 0;
  int sleeps = 0;
  absl::Duration polled;
  absl::Duration polled_in_vain;
  absl::Duration elapsed;

  // Work comes `gap` after the loop began to wait for it. Returns after how long the loop has it.
  absl::Duration Wait(absl::Duration gap) {
    ++waits;
    const absl::Duration most = poll_time.value();
    const bool found = gap <= most;
    const absl::Duration waited = found ? gap : gap + kWakeUp;
    polled += std::min(gap, most);
    if (found) {
      poll_time.OnFound(waited);
    } else {
      ++sleeps;
      polled_in_vain += most;
      poll_time.OnSlept(waited);
    }
    elapsed += waited;
    return waited;
  }
  void Wait(absl::Duration gap, int times) {
    for (int i = 0; i < times; ++i) Wait(gap);
  }
  void Forget() {
    waits = sleeps = 0;
    polled = polled_in_vain = elapsed = absl::ZeroDuration();
  }

  // Of the time that passed.
  double polled_part() const { return absl::FDivDuration(polled, elapsed); }
  // As PollTime counts: a sleep is worth kMost of polling.
  absl::Duration cost() const { return polled + sleeps * kMost; }
};

// A loop that had nothing to do for long, but for a timer now and then.
Waiting IdleLoop() {
  Waiting loop;
  loop.Wait(absl::Seconds(1), 100);
  loop.Forget();
  return loop;
}

TEST(PollTime, BeginsWithTheMostThatItMay) { EXPECT_EQ(PollTime(kMost).value(), kMost); }

TEST(PollTime, AnIdleLoopPollsForABoundedTimeInAllAndThenNoMore) {
  Waiting loop;
  loop.Wait(absl::Microseconds(2), 1000);
  loop.Forget();
  loop.Wait(absl::Seconds(1), 1000);
  EXPECT_LE(loop.polled, 4 * kMost);
  EXPECT_EQ(loop.poll_time.value(), absl::ZeroDuration());
}

TEST(PollTime, SteadyTrafficWithinTheMostNeverSleeps) {
  for (const absl::Duration gap : {absl::Nanoseconds(100), absl::Microseconds(2), absl::Microseconds(49)}) {
    Waiting loop;
    loop.Wait(gap, 10000);
    EXPECT_EQ(loop.sleeps, 0) << gap;
  }
}

TEST(PollTime, TrafficThatBecomesDenseAfterALongIdleTimeIsPolledForSoon) {
  for (const absl::Duration gap : {absl::Microseconds(2), absl::Microseconds(40)}) {
    Waiting loop = IdleLoop();
    loop.Wait(gap, 1000);
    EXPECT_LE(loop.sleeps, 80) << gap;
    loop.Forget();
    loop.Wait(gap, 1000);
    EXPECT_EQ(loop.sleeps, 0) << gap;
  }
}

TEST(PollTime, WorkThatIsAlwaysALittleLateCostsNoMoreThanAFewProbes) {
  Waiting loop = IdleLoop();
  loop.Wait(2 * kMost, 1000);
  EXPECT_EQ(loop.sleeps, 1000);
  EXPECT_LE(loop.polled, 1000 / 16 * kMost);
}

TEST(PollTime, SeldomWorkIsNotPolledFor) {
  Waiting loop;
  loop.Wait(absl::Milliseconds(10), 1000);
  EXPECT_LE(loop.polled, 2 * kMost);
  EXPECT_LT(loop.polled_part(), 0.0001);
}

// A call every 10 ms, which takes two waits more: to the message behind the request, and to its completion.
TEST(PollTime, ASlowPingIsPolledForAsLongAsItsOwnStepsTake) {
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    Random random(seed);
    Waiting loop;
    for (int call = 0; call < 1000; ++call) {
      loop.Wait(absl::Milliseconds(10));
      loop.Wait(absl::Microseconds(1) + Exponential(random, absl::Microseconds(1)));
      loop.Wait(absl::Microseconds(1) + Exponential(random, absl::Microseconds(1)));
    }
    EXPECT_LT(loop.polled_part(), 0.003) << "seed " << seed;
    EXPECT_LT(loop.sleeps, 1400) << "seed " << seed;
  }
}

TEST(PollTime, WithinABurstItPollsAndBetweenBurstsItSleepsSoon) {
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    Random random(seed);
    Waiting loop;
    constexpr int kBursts = 200;
    constexpr int kBurst = 50;
    for (int burst = 0; burst < kBursts; ++burst) {
      for (int i = 1; i < kBurst; ++i) loop.Wait(Exponential(random, absl::Microseconds(2)));
      loop.Wait(absl::Milliseconds(1) + Exponential(random, absl::Milliseconds(10)));
    }
    EXPECT_LT(loop.sleeps, 2 * kBursts) << "seed " << seed;
    EXPECT_LE(loop.polled_in_vain, 0.01 * loop.elapsed) << "seed " << seed;
  }
}

// Two ends that wait for each other: each one's wait lasts until the other has woken up and answered.
TEST(PollTime, TwoEndsThatBothSleepFindOutThatPollingServesBoth) {
  Waiting client = IdleLoop();
  Waiting server = IdleLoop();
  absl::Duration answer = absl::Microseconds(1) + kWakeUp;  // How long the other takes: it slept, or did not.
  for (int call = 0; call < 1000; ++call) {
    if (call == 200) {
      client.Forget();
      server.Forget();
    }
    for (Waiting* end : {&client, &server}) {
      const int sleeps = end->sleeps;
      end->Wait(answer);
      answer = absl::Microseconds(1) + (end->sleeps > sleeps ? kWakeUp : absl::ZeroDuration());
    }
  }
  EXPECT_EQ(client.sleeps + server.sleeps, 0);
}

// A peer on the same processor runs only while the loop sleeps.
TEST(PollTime, WhoHoldsUpHisPeerByPollingStopsPolling) {
  Waiting loop;
  for (int i = 0; i < 1000; ++i) loop.Wait(loop.poll_time.value() + absl::Microseconds(20));
  EXPECT_LE(loop.polled, 1000 / 4 * kMost);
}

TEST(PollTime, NoneNeverPollsAndInfiniteNeverSleeps) {
  PollTime none(absl::ZeroDuration());
  PollTime endless(absl::InfiniteDuration());
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(none.value(), absl::ZeroDuration());
    EXPECT_EQ(endless.value(), absl::InfiniteDuration());
    none.OnSlept(absl::Microseconds(i));
    endless.OnFound(absl::Hours(i));
  }
}

struct Traffic {
  std::string name;
  std::function<absl::Duration(Random&)> gap;
};

std::vector<Traffic> Traffics() {
  std::vector<Traffic> traffics;
  for (const int mean : {1, 5, 10, 20, 30, 50, 100, 200, 1000}) {
    const absl::Duration duration = absl::Microseconds(mean);
    traffics.push_back({"exponential, us: " + std::to_string(mean),
                        [duration](Random& random) { return Exponential(random, duration); }});
  }
  for (const int percent : {1, 10, 50, 90}) {
    traffics.push_back({"2 us, and 1 ms in percent: " + std::to_string(percent), [percent](Random& random) {
                          const bool seldom = static_cast<int>(random() % 100) < percent;
                          return Exponential(random, seldom ? absl::Milliseconds(1) : absl::Microseconds(2));
                        }});
  }
  return traffics;
}

absl::Duration CostOfPollingFor(absl::Duration most, const std::vector<absl::Duration>& gaps) {
  absl::Duration cost;
  for (const absl::Duration gap : gaps) cost += gap <= most ? gap : most + kMost;
  return cost;
}

TEST(PollTime, CostsLittleMoreThanTheBestFixedPollTimeWouldHave) {
  for (const Traffic& traffic : Traffics()) {
    for (uint64_t seed = 0; seed < kSeeds; ++seed) {
      Random random(seed);
      std::vector<absl::Duration> gaps(5000);
      for (absl::Duration& gap : gaps) gap = traffic.gap(random);
      absl::Duration best = absl::InfiniteDuration();
      for (absl::Duration most = absl::ZeroDuration(); most <= kMost; most += kMost / 50) {
        best = std::min(best, CostOfPollingFor(most, gaps));
      }
      Waiting loop;
      for (const absl::Duration gap : gaps) loop.Wait(gap);
      EXPECT_LE(loop.cost(), 1.33 * best) << traffic.name << ", seed " << seed;
    }
  }
}

}  // namespace
}  // namespace verbena::transport
