#include "rpc/executor/handler_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <latch>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "rpc/executor/thread_pool.h"

namespace verbena::rpc {
namespace {

using ::testing::ElementsAre;

constexpr ClientId kAda{1};
constexpr ClientId kBob{2};

// Never goes back.
absl::Time SteadyNow() {
  return absl::UnixEpoch() + absl::FromChrono(std::chrono::steady_clock::now().time_since_epoch());
}

// Runs its tasks when it is told to.
class ManualExecutor : public Executor {
 public:
  explicit ManualExecutor(size_t queue_max) : queue_max_(queue_max) {}
  bool TrySubmit(Task task) override {
    EXPECT_LT(tasks_.size(), queue_max_);
    tasks_.push_back(std::move(task));
    return true;
  }
  void Shutdown() override { tasks_.clear(); }
  size_t queue_max() const override { return queue_max_; }
  // False: there is none.
  bool RunOne() {
    if (tasks_.empty()) return false;
    Task task = std::move(tasks_.front());
    tasks_.erase(tasks_.begin());
    task();
    return true;
  }

 private:
  const size_t queue_max_;
  std::vector<Task> tasks_;
};

class HandlerQueueTest : public ::testing::Test {
 protected:
  static constexpr CallQueueOptions kOptions = {3, absl::Milliseconds(100), absl::Milliseconds(100)};

  absl::Time Submit(ClientId client, const std::string& name) {
    return queue_.Submit(client, [this, name](absl::Status status) {
      said_.push_back(status.ok() ? name : absl::StrCat(name, " ", absl::StatusCodeToString(status.code())));
    });
  }
  void RunAll() {
    while (executor_->RunOne()) continue;
  }

  absl::Time now_ = absl::UnixEpoch();
  std::vector<std::string> said_;
  ManualExecutor* const executor_ = new ManualExecutor(kOptions.waiting_max);
  HandlerQueue queue_{std::unique_ptr<Executor>(executor_), /*threads=*/2, kOptions, [this] { return now_; }};
};

TEST_F(HandlerQueueTest, ThreadsTakeCallsInTurnOfTheirClients) {
  Submit(kAda, "a1");
  Submit(kAda, "a2");
  Submit(kBob, "b1");
  RunAll();
  EXPECT_THAT(said_, ElementsAre("a1", "b1", "a2"));
}

TEST_F(HandlerQueueTest, CallWithoutAPlaceIsRefusedAtOnceAndWhoAsksBeforeIsTold) {
  for (const char* name : {"a1", "a2", "a3"}) Submit(kAda, name);
  EXPECT_TRUE(absl::IsResourceExhausted(queue_.CheckPlace(kAda)));
  EXPECT_EQ(queue_.CheckPlace(kBob), absl::OkStatus());
  Submit(kAda, "a4");
  EXPECT_THAT(said_, ElementsAre("a4 RESOURCE_EXHAUSTED"));
}

TEST_F(HandlerQueueTest, WhatIsRefusedWhileItWaitsLeavesItsTicketToTheNext) {
  for (const char* name : {"a1", "a2", "a3"}) Submit(kAda, name);
  Submit(kBob, "b1");  // For a3, and the executor has room for no more.
  RunAll();
  EXPECT_THAT(said_, ElementsAre("a3 RESOURCE_EXHAUSTED", "a1", "b1", "a2"));
}

TEST_F(HandlerQueueTest, WhereEveryThreadIsStuckTheCallsAreRefusedAllTheSame) {
  const absl::Time first = Submit(kAda, "a1");
  EXPECT_EQ(first, now_ + absl::Milliseconds(100));
  now_ += absl::Milliseconds(40);
  EXPECT_EQ(Submit(kAda, "a2"), first);
  now_ = first;
  const absl::Time second = queue_.RefuseOverdue();
  EXPECT_EQ(second, first + absl::Milliseconds(40));
  now_ = second;
  EXPECT_EQ(queue_.RefuseOverdue(), absl::InfiniteFuture());
  EXPECT_THAT(said_, ElementsAre("a1 RESOURCE_EXHAUSTED", "a2 RESOURCE_EXHAUSTED"));
  for (const char* name : {"a3", "a4", "a5"}) Submit(kAda, name);
  RunAll();
  EXPECT_EQ(said_.size(), 5u);
}

TEST_F(HandlerQueueTest, ThreadThatIsFreeRefusesWhatIsOverdueBeforeItTakesTheNext) {
  Submit(kAda, "a1");
  now_ += absl::Milliseconds(100);
  Submit(kBob, "b1");
  RunAll();
  EXPECT_THAT(said_, ElementsAre("a1 RESOURCE_EXHAUSTED", "b1"));
}

TEST_F(HandlerQueueTest, ThreadsThatRunAHandlerAreBusy) {
  double busy = 0;
  queue_.Submit(kAda, [this, &busy](absl::Status) { busy = queue_.busy(); });
  RunAll();
  EXPECT_EQ(busy, 0.5);
  EXPECT_EQ(queue_.busy(), 0);
}

TEST_F(HandlerQueueTest, ShutdownDestroysWhatWaitsUncalled) {
  auto held = std::make_shared<int>(0);
  queue_.Submit(kAda, [held](absl::Status) { ++*held; });
  queue_.Shutdown();
  queue_.Submit(kAda, [held](absl::Status) { ++*held; });
  EXPECT_EQ(held.use_count(), 1);
  EXPECT_EQ(*held, 0);
}

TEST(HandlerQueueThreads, EveryTaskIsCalledOnceWhoeverSubmitsAndRefuses) {
  constexpr int kThreads = 4;
  constexpr int kTasks = 5000;
  std::vector<std::atomic<int>> calls(kThreads * kTasks);
  std::latch all(kThreads * kTasks);
  // Behind what its threads use: they may be in a task still when all have been counted.
  HandlerQueue queue(std::make_unique<ThreadPool>(2, 16), 2, {16, absl::Microseconds(200), absl::Microseconds(20)},
                     &SteadyNow);
  std::vector<std::thread> submitters;
  for (int thread = 0; thread < kThreads; ++thread) {
    submitters.emplace_back([&, thread] {
      for (int i = thread * kTasks; i < (thread + 1) * kTasks; ++i) {
        queue.Submit(ClientId{static_cast<uint64_t>(thread)}, [&calls, &all, i](absl::Status) {
          ++calls[i];
          all.count_down();
        });
        if (i % 16 == 0) queue.RefuseOverdue();
      }
    });
  }
  for (std::thread& submitter : submitters) submitter.join();
  all.wait();
  for (const std::atomic<int>& count : calls) EXPECT_EQ(count, 1);
}

}  // namespace
}  // namespace verbena::rpc
