#include "transport/kept_memory_timer.h"

#include <utility>

#include "gtest/gtest.h"

namespace verbena::transport {
namespace {

// A loop of one timer, in virtual time.
class OneTimerLoop : public EventLoop {
 public:
  // False: no timer is set.
  bool RunTimer() {
    if (callback_ == nullptr) return false;
    now_ = when_;
    std::exchange(callback_, nullptr)();
    return true;
  }
  bool has_timer() const { return callback_ != nullptr; }

  TimerId AddTimer(absl::Time when, absl::AnyInvocable<void()> callback) override {
    EXPECT_EQ(callback_, nullptr);
    when_ = when;
    callback_ = std::move(callback);
    return 1;
  }
  void CancelTimer(TimerId) override { callback_ = nullptr; }
  absl::Time Now() const override { return now_; }

  void Post(absl::AnyInvocable<void()>) override {}
  void AddSource(PollSource*) override {}
  void RemoveSource(PollSource*) override {}
  absl::Status AddFd(int, PollSource*) override { return absl::OkStatus(); }
  void RemoveFd(int, PollSource*) override {}
  void RunUntil(absl::FunctionRef<bool()>) override {}
  void Stop() override {}
  bool InLoopThread() const override { return true; }

 private:
  // Later than in the other tests of the process's arena.
  static inline absl::Time now_ = absl::UnixEpoch() + absl::Hours(100);
  absl::Time when_;
  absl::AnyInvocable<void()> callback_;
};

// Memory that is used once and kept.
void UseMuch() { EXPECT_TRUE(PayloadArena::Get().Allocate(4 * PayloadArena::kKeptIdle).ok()); }

bool NothingOwn() { return false; }

TEST(KeptMemoryTimer, ALoopWithoutLinksHasNone) {
  OneTimerLoop loop;
  const KeptMemoryTimer timer(&loop, NothingOwn);
  EXPECT_FALSE(loop.has_timer());
}

TEST(KeptMemoryTimer, WhatIsKeptIsGivenBackWhileThereAreLinks) {
  OneTimerLoop loop;
  KeptMemoryTimer timer(&loop, NothingOwn);
  timer.OnLink();
  UseMuch();
  for (int period = 0; period < 10; ++period) ASSERT_TRUE(loop.RunTimer());
  EXPECT_LE(PayloadArena::Get().mapped_bytes(), PayloadArena::kKeptIdle);
}

TEST(KeptMemoryTimer, AfterTheLastLinkItGoesOnUntilLittleIsKeptAndThenEnds) {
  OneTimerLoop loop;
  KeptMemoryTimer timer(&loop, NothingOwn);
  timer.OnLink();
  UseMuch();
  timer.OnLinkGone();
  ASSERT_TRUE(loop.RunTimer());
  EXPECT_TRUE(loop.has_timer()) << "much is kept";
  int periods = 0;
  while (loop.RunTimer()) ASSERT_LT(++periods, 10);
  EXPECT_LE(PayloadArena::Get().mapped_bytes(), PayloadArena::kKeptIdle);
  timer.OnLink();
  EXPECT_TRUE(loop.has_timer());
}

TEST(KeptMemoryTimer, AfterTheLastLinkItGoesOnWhileTheOwnerHasMore) {
  OneTimerLoop loop;
  int more = 3;
  KeptMemoryTimer timer(&loop, [&more] { return --more > 0; });
  timer.OnLink();
  timer.OnLinkGone();
  while (loop.RunTimer()) {
  }
  EXPECT_EQ(more, 0);
}

TEST(KeptMemoryTimer, CancelledItDoesNotRunAgain) {
  OneTimerLoop loop;
  KeptMemoryTimer timer(&loop, NothingOwn);
  timer.OnLink();
  timer.Cancel();
  EXPECT_FALSE(loop.has_timer());
}

}  // namespace
}  // namespace verbena::transport
