#include "rpc/coroutine/completion.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>

#include "rpc/coroutine/start_task.h"
#include "rpc/coroutine/task.h"
#include "rpc/testing/manual_loop.h"

namespace verbena::coroutine {
namespace {

using testing::ManualLoop;

class Awaiter {
 public:
  explicit Awaiter(Completion* completion) : completion_(*completion) {}
  ~Awaiter() { completion_.Abandon(); }
  bool await_ready() const { return false; }
  bool await_suspend(std::coroutine_handle<> coroutine) { return completion_.Suspend(coroutine); }
  void await_resume() const {}

 private:
  Completion& completion_;
};

Task<void> Await(Completion* completion) { co_await Awaiter(completion); }

class CompletionTest : public ::testing::Test {
 protected:
  // Made on the loop.
  std::shared_ptr<Completion> Make() {
    std::shared_ptr<Completion> made;
    loop_.Post([&made] { made = std::make_shared<Completion>(); });
    loop_.RunUntilIdle();
    return made;
  }
  RunningTask Start(const std::shared_ptr<Completion>& completion) {
    return StartTask(Await(completion.get()), [this](absl::Status status) { end_ = std::move(status); });
  }

  ManualLoop loop_;
  std::optional<absl::Status> end_;
};

TEST_F(CompletionTest, EndBeforeTheAwaitDoesNotSuspend) {
  const auto completion = std::make_shared<Completion>();
  Completion::Complete(completion);
  EXPECT_TRUE(completion->complete());
  const RunningTask task = Start(completion);
  EXPECT_EQ(end_, absl::OkStatus());
}

TEST_F(CompletionTest, EndElsewhereResumesAtHome) {
  const std::shared_ptr<Completion> completion = Make();
  const RunningTask task = Start(completion);
  Completion::Complete(completion);
  EXPECT_FALSE(completion->complete());
  EXPECT_EQ(end_, std::nullopt);
  loop_.RunUntilIdle();
  EXPECT_EQ(end_, absl::OkStatus());
}

TEST_F(CompletionTest, EndAtHomeResumesAtOnce) {
  const std::shared_ptr<Completion> completion = Make();
  const RunningTask task = Start(completion);
  loop_.Post([&] {
    Completion::Complete(completion);
    EXPECT_EQ(end_, absl::OkStatus());
  });
  loop_.RunUntilIdle();
  EXPECT_EQ(end_, absl::OkStatus());
}

TEST_F(CompletionTest, DestroyedWaiterIsNotResumed) {
  std::shared_ptr<Completion> completion = Make();
  RunningTask task = Start(completion);
  Completion::Complete(completion);  // Under way.
  task = {};
  loop_.RunUntilIdle();
  EXPECT_EQ(end_, std::nullopt);
  EXPECT_TRUE(completion->complete());
  EXPECT_EQ(completion.use_count(), 1);
}

TEST_F(CompletionTest, ResetAwaitsTheNextEnd) {
  const auto completion = std::make_shared<Completion>();
  Completion::Complete(completion);
  completion->Reset();
  const RunningTask task = Start(completion);
  EXPECT_EQ(end_, std::nullopt);
  Completion::Complete(completion);
  EXPECT_EQ(end_, absl::OkStatus());
}

TEST_F(CompletionTest, WaiterAfterOneThatWasDestroyedIsResumed) {
  const auto completion = std::make_shared<Completion>();
  RunningTask given_up = Start(completion);
  given_up = {};
  const RunningTask task = Start(completion);
  Completion::Complete(completion);
  EXPECT_EQ(end_, absl::OkStatus());
}

TEST_F(CompletionTest, WaiterWhoseHomeHasGoneIsNotResumed) {
  auto home = std::make_unique<ManualLoop>();
  std::shared_ptr<Completion> completion;
  home->Post([&completion] { completion = std::make_shared<Completion>(); });
  home->RunUntilIdle();
  RunningTask task = Start(completion);
  home.reset();
  Completion::Complete(completion);
  EXPECT_TRUE(completion->complete());
  EXPECT_EQ(end_, std::nullopt);
  task = {};
}

TEST_F(CompletionTest, EndThatIsUnderWayWhenHomeGoesResumesNobody) {
  auto home = std::make_unique<ManualLoop>();
  std::shared_ptr<Completion> completion;
  home->Post([&completion] { completion = std::make_shared<Completion>(); });
  home->RunUntilIdle();
  const std::weak_ptr<Completion> watched = completion;
  RunningTask task = Start(completion);
  Completion::Complete(completion);
  home.reset();
  EXPECT_EQ(end_, std::nullopt);
  task = {};
  completion.reset();
  EXPECT_TRUE(watched.expired());
}

}  // namespace
}  // namespace verbena::coroutine
