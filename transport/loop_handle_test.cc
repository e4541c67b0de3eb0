#include "transport/loop_handle.h"

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace verbena::transport {
namespace {

TEST(LoopHandle, LeadsToItsLoopUntilItIsDetached) {
  const std::unique_ptr<EventLoop> loop = *EventLoop::Create({});
  LoopHandle handle(loop.get());
  EXPECT_FALSE(handle.IsHere());
  bool ran = false;
  LoopHandle::Task task = [&] {
    ran = true;
    EXPECT_TRUE(handle.IsHere());
  };
  EXPECT_TRUE(handle.Post(task));
  EXPECT_EQ(task, nullptr);
  loop->RunUntil([&ran] { return ran; });
  EXPECT_FALSE(handle.gone());
  handle.Detach();
  EXPECT_TRUE(handle.gone());
  EXPECT_FALSE(handle.IsHere());
  LoopHandle::Task late = [] {};
  EXPECT_FALSE(handle.Post(late));
  EXPECT_NE(late, nullptr);
}

// Of a loop that another one's task runs, the outer is meant.
TEST(LoopHandle, IsAtALoopThatRunsAnotherOne) {
  const std::unique_ptr<EventLoop> outer = *EventLoop::Create({});
  const std::unique_ptr<EventLoop> inner = *EventLoop::Create({});
  LoopHandle handle(outer.get());
  bool ran = false;
  const auto run = [&] {
    inner->Post([&] {
      EXPECT_TRUE(handle.IsHere());
      ran = true;
    });
    inner->RunUntil([&ran] { return ran; });
    return true;
  };
  outer->RunUntil(run);
  EXPECT_TRUE(ran);
}

// The loop goes as soon as Detach returns, while others post.
TEST(LoopHandle, NobodyUsesALoopThatIsGone) {
  constexpr int kThreads = 3;
  for (int round = 0; round < 50; ++round) {
    std::unique_ptr<EventLoop> loop = *EventLoop::Create({});
    LoopHandle handle(loop.get());
    std::atomic<int> destroyed = 0, posted = 0;
    std::vector<std::thread> threads;
    for (int thread = 0; thread < kThreads; ++thread) {
      threads.emplace_back([&] {
        while (true) {
          LoopHandle::Task task = [counts = std::shared_ptr<int>(new int, [&destroyed](int* gone) {
                                     delete gone;
                                     ++destroyed;
                                   })] {};
          if (!handle.Post(task)) return;
          ++posted;
          EXPECT_FALSE(handle.gone() && handle.Post(task));
          EXPECT_FALSE(handle.IsHere());
        }
      });
    }
    loop->RunUntil([&] { return posted > 3 * kThreads; });
    handle.Detach();
    loop.reset();
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(destroyed, posted + kThreads);  // Each one's last was refused.
  }
}

}  // namespace
}  // namespace verbena::transport
