// A server with a few handler threads under clients that ask for more than it has, in virtual time, by seeds.

#include <gtest/gtest.h>

#include <map>
#include <utility>
#include <vector>

#include "rpc/core/overload/call_queue.h"
#include "rpc/core/split_mix.h"

namespace verbena::rpc {
namespace {

constexpr absl::Duration kTick = absl::Microseconds(100);
constexpr int kSeeds = 4;
constexpr ClientId kFlooder{1};
constexpr ClientId kPolite{2};

// Four threads, a call takes one of them 1 ms: 4 calls each millisecond.
constexpr int kThreads = 4;
constexpr absl::Duration kServiceTime = absl::Milliseconds(1);
constexpr double kCapacityPerTick = 0.4;

struct Outcomes {
  int made = 0;
  int served = 0;          // Begun.
  int served_in_time = 0;  // While the caller still waited.
  int refused = 0;
  absl::Duration wait_max;  // Of those served.
};

class SimulatedServer {
 public:
  SimulatedServer(const CallQueueOptions& options, absl::Duration patience, uint64_t seed)
      : queue_(options), patience_(patience), random_(seed), busy_until_(kThreads, absl::InfinitePast()) {}

  void Call(ClientId client) {
    ++of_[client].made;
    const absl::Time made = now_;
    auto task = [this, client, made](absl::Status status) {
      Outcomes& outcomes = of_[client];
      if (!status.ok()) {
        ++outcomes.refused;
        return;
      }
      ++outcomes.served;
      outcomes.wait_max = std::max(outcomes.wait_max, now_ - made);
      if (now_ - made <= patience_) ++outcomes.served_in_time;
    };
    if (auto refusal = queue_.Push(client, task, now_)) refusal->task(refusal->status);
  }

  // Calls come at random, so many each tick on average.
  void Run(absl::Duration duration, const std::map<ClientId, double>& rates) {
    for (const absl::Time end = now_ + duration; now_ < end; now_ += kTick) {
      for (const auto& [client, rate] : rates) {
        double due = rate;
        for (; due >= 1; --due) Call(client);
        if (random_.NextUnit() < due) Call(client);
      }
      while (auto refusal = queue_.PopOverdue(now_)) refusal->task(refusal->status);
      for (absl::Time& busy_until : busy_until_) {
        if (busy_until > now_) continue;
        if (CallQueue::Task task = queue_.Pop()) {
          task(absl::OkStatus());
          busy_until = now_ + kServiceTime;
        }
      }
    }
  }
  void Forget() { of_.clear(); }

  Outcomes& of(ClientId client) { return of_[client]; }
  size_t waiting() const { return queue_.size(); }

 private:
  CallQueue queue_;
  const absl::Duration patience_;
  SplitMix64 random_;
  std::vector<absl::Time> busy_until_;
  absl::Time now_ = absl::UnixEpoch();
  std::map<ClientId, Outcomes> of_;
};

constexpr CallQueueOptions kAdaptive = {1024, absl::Milliseconds(100), absl::Milliseconds(5)};
constexpr CallQueueOptions kUnbounded = {1024, absl::InfiniteDuration(), absl::InfiniteDuration()};
constexpr absl::Duration kPatience = absl::Milliseconds(50);

int CapacityIn(absl::Duration time) { return static_cast<int>(kCapacityPerTick * (time / kTick)); }

TEST(CallQueueSimulation, BurstIsSmoothedAndNobodyRefused) {
  SimulatedServer server(kAdaptive, kPatience, 1);
  for (int call = 0; call < 300; ++call) server.Call(kFlooder);  // 75 ms of work.
  server.Run(absl::Seconds(1), {});
  EXPECT_EQ(server.of(kFlooder).served, 300);
}

TEST(CallQueueSimulation, ModerateLoadIsServedWhole) {
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    SimulatedServer server(kAdaptive, kPatience, seed);
    server.Run(absl::Seconds(5), {{kFlooder, 0.8 * kCapacityPerTick}});
    server.Run(absl::Seconds(1), {});
    EXPECT_EQ(server.of(kFlooder).served, server.of(kFlooder).made);
  }
}

// Where the queue has no bound in time, it settles at a length whose wait nobody has the patience for.
TEST(CallQueueSimulation, UnderTwiceTheLoadTheWorkIsForCallersWhoStillWait) {
  const absl::Duration time = absl::Seconds(5);
  const std::map<ClientId, double> load = {{kFlooder, 2 * kCapacityPerTick}};
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    SimulatedServer adaptive(kAdaptive, kPatience, seed);
    SimulatedServer unbounded(kUnbounded, kPatience, seed);
    for (SimulatedServer* server : {&adaptive, &unbounded}) {
      server->Run(absl::Seconds(1), load);
      server->Forget();
      server->Run(time, load);
    }
    EXPECT_GE(adaptive.of(kFlooder).served_in_time, 0.95 * CapacityIn(time));
    EXPECT_LE(adaptive.of(kFlooder).wait_max, absl::Milliseconds(5));
    EXPECT_LE(unbounded.of(kFlooder).served_in_time, 0.05 * CapacityIn(time));
  }
}

TEST(CallQueueSimulation, AfterOverloadNobodyIsRefusedAnyMore) {
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    SimulatedServer server(kAdaptive, kPatience, seed);
    server.Run(absl::Seconds(2), {{kFlooder, 3 * kCapacityPerTick}});
    EXPECT_GT(server.of(kFlooder).refused, 0);
    server.Run(absl::Milliseconds(50), {});
    EXPECT_EQ(server.waiting(), 0u);
    server.Forget();
    server.Run(absl::Seconds(1), {{kFlooder, 0.9 * kCapacityPerTick}});
    EXPECT_EQ(server.of(kFlooder).refused, 0);
  }
}

TEST(CallQueueSimulation, WhoAsksForLittleIsServedWhateverAnotherAsksFor) {
  for (const CallQueueOptions& options : {kAdaptive, kUnbounded}) {
    for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
      SCOPED_TRACE(seed);
      SimulatedServer server(options, kPatience, seed);
      server.Run(absl::Seconds(3), {{kFlooder, 20 * kCapacityPerTick}, {kPolite, 0.2 * kCapacityPerTick}});
      EXPECT_GT(server.of(kFlooder).refused, server.of(kFlooder).made / 2);
      EXPECT_EQ(server.of(kPolite).refused, 0);
      EXPECT_LE(server.of(kPolite).wait_max, absl::Milliseconds(5));
    }
  }
}

TEST(CallQueueSimulation, ThoseWhoAskForTooMuchShareWhatOthersLeave) {
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    SimulatedServer server(kAdaptive, kPatience, seed);
    const absl::Duration time = absl::Seconds(3);
    server.Run(time, {{ClientId{1}, 20 * kCapacityPerTick},
                      {ClientId{2}, 2 * kCapacityPerTick},
                      {ClientId{3}, 0.2 * kCapacityPerTick}});
    for (const ClientId greedy : {ClientId{1}, ClientId{2}}) {
      EXPECT_NEAR(server.of(greedy).served, 0.4 * CapacityIn(time), 0.02 * CapacityIn(time));
    }
  }
}

}  // namespace
}  // namespace verbena::rpc
