#include "rpc/executor/handler_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <latch>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "rpc/executor/worker_threads.h"

namespace verbena::rpc {
namespace {

using ::testing::ElementsAre;

constexpr ClientId kAda{1};
constexpr ClientId kBob{2};

// Never goes back.
absl::Time SteadyNow() {
  return absl::UnixEpoch() + absl::FromChrono(std::chrono::steady_clock::now().time_since_epoch());
}

// Two threads, each of which does one piece of work when it is told to.
class ManualExecutor : public Executor {
 public:
  explicit ManualExecutor(Work work) : work_(std::move(work)) {}
  void Wake() override {
    ++wakes_;
    ++awake_;
    EXPECT_LE(awake_, kThreads);
  }
  void Shutdown() override { awake_ = 0; }
  // False: no thread is awake, or that which was has found nothing to do.
  bool RunOne() {
    if (awake_ == 0) return false;
    if (work_()) return true;
    --awake_;
    return false;
  }
  int wakes() const { return wakes_; }
  int awake() const { return awake_; }

  static constexpr int kThreads = 2;

 private:
  const Work work_;
  int wakes_ = 0;
  int awake_ = 0;
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
    while (executor_->awake() > 0) executor_->RunOne();
  }

  // A handler that says "h". While it is moved, by who is at the queue and has taken in what was there, another thread
  // brings `b1`, if CallComesWhileThatIsMoved was called before that one came.
  struct MovedHandler {
    HandlerQueueTest* test;
    explicit MovedHandler(HandlerQueueTest* of) : test(of) {}
    MovedHandler(MovedHandler&& other) noexcept : test(other.test) {
      if (const auto meanwhile = std::exchange(test->is_moved_, nullptr)) meanwhile();
    }
    void operator()(absl::Status status) {
      test->said_.push_back(status.ok() ? absl::StrCat("h with ", test->executor_->awake(), " awake") : "h refused");
    }
  };
  void CallComesWhileThatIsMoved() {
    is_looked_at_ = [this] { is_moved_ = [this] { std::thread([this] { Submit(kBob, "b1"); }).join(); }; };
  }

  absl::Time ReadClock() {
    if (const auto meanwhile = std::exchange(is_looked_at_, nullptr)) meanwhile();
    return now_;
  }

  absl::Time now_ = absl::UnixEpoch();
  std::function<void()> is_looked_at_;  // Called once.
  std::function<void()> is_moved_;      // Called once.
  std::vector<std::string> said_;
  ManualExecutor* executor_ = nullptr;  // The queue's.
  HandlerQueue queue_{[this](int, Executor::Work work) {
                        auto executor = std::make_unique<ManualExecutor>(std::move(work));
                        executor_ = executor.get();
                        return executor;
                      },
                      ManualExecutor::kThreads, kOptions, [this] { return ReadClock(); }};
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

TEST_F(HandlerQueueTest, CallMayTakeThePlaceOfOneOfALongerLine) {
  for (const char* name : {"a1", "a2", "a3"}) Submit(kAda, name);
  Submit(kBob, "b1");  // For a3.
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

TEST_F(HandlerQueueTest, ThreadsAreWokenOneAfterTheOther) {
  for (const char* name : {"a1", "a2", "a3"}) Submit(kAda, name);
  EXPECT_EQ(executor_->wakes(), 1);  // For all that come before it is there.
  EXPECT_TRUE(executor_->RunOne());
  EXPECT_EQ(executor_->wakes(), 2);  // It left calls in the queue, and there is one more thread.
  EXPECT_TRUE(executor_->RunOne());
  EXPECT_TRUE(executor_->RunOne());
  EXPECT_EQ(executor_->wakes(), 2);
}

TEST_F(HandlerQueueTest, ThreadThatComesBackTakesTheNextWithoutAWakeUp) {
  Submit(kAda, "a1");
  EXPECT_TRUE(executor_->RunOne());
  for (int i = 0; i < 10; ++i) {
    Submit(kAda, "next");
    EXPECT_TRUE(executor_->RunOne());
  }
  EXPECT_EQ(executor_->wakes(), 2);  // The second for the first that came while a thread was awake.
}

TEST_F(HandlerQueueTest, ThreadIsWokenForACallThatComesWhileAnotherRuns) {
  bool inner_ran = false;
  queue_.Submit(kAda, [&](absl::Status) {
    Submit(kBob, "b1");
    EXPECT_EQ(executor_->awake(), 2);
    EXPECT_TRUE(executor_->RunOne());
    inner_ran = true;
  });
  RunAll();
  EXPECT_TRUE(inner_ran);
  EXPECT_THAT(said_, ElementsAre("b1"));
}

TEST_F(HandlerQueueTest, WhoeverComesWhileAnotherIsAtTheQueueDoesNotWait) {
  absl::Time meanwhile = absl::InfiniteFuture();
  // The clock is read by who is at the queue.
  is_looked_at_ = [&] {
    std::thread([&] {
      meanwhile = Submit(kBob, "b1");
      EXPECT_EQ(queue_.CheckPlace(kBob), absl::OkStatus());
    }).join();
  };
  const absl::Time first = Submit(kAda, "a1");
  EXPECT_EQ(first, now_ + absl::Milliseconds(100));
  EXPECT_LT(meanwhile, first);  // It could not see when, and asks again.
  EXPECT_GT(meanwhile, now_);
  RunAll();
  EXPECT_THAT(said_, ElementsAre("a1", "b1"));
}

TEST_F(HandlerQueueTest, WhoeverBringsACallLooksOnceMoreBeforeHeLeaves) {
  Submit(kAda, "a1");
  Submit(kAda, "a2");
  CallComesWhileThatIsMoved();
  queue_.Submit(kAda, MovedHandler(this));
  EXPECT_THAT(said_, ElementsAre("h refused"));  // For b1, which has been taken in.
}

TEST_F(HandlerQueueTest, ThreadThatTakesACallLooksOnceMoreBeforeItRunsIt) {
  queue_.Submit(kAda, MovedHandler(this));
  CallComesWhileThatIsMoved();
  EXPECT_TRUE(executor_->RunOne());
  EXPECT_THAT(said_, ElementsAre("h with 2 awake"));  // The other one was woken for b1.
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
  HandlerQueue queue([](int threads, Executor::Work work) { return std::make_unique<WorkerThreads>(threads, work); }, 2,
                     {16, absl::Microseconds(200), absl::Microseconds(20)}, &SteadyNow);
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
