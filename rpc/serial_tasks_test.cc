#include "rpc/serial_tasks.h"

#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace verbena::rpc {
namespace {

TEST(SerialTasks, RunsATaskAtOnceWhileNobodyRunsOne) {
  SerialTasks tasks;
  bool ran = false;
  tasks.Run([&ran] { ran = true; });
  EXPECT_TRUE(ran);
}

TEST(SerialTasks, TaskOfATaskRunsBehindIt) {
  SerialTasks tasks;
  std::string order;
  tasks.Run([&] {
    tasks.Run([&order] { order += "b"; });
    order += "a";
  });
  EXPECT_EQ(order, "ab");
}

TEST(SerialTasks, WhoFindsSomebodyAtItLeavesHisTaskThere) {
  SerialTasks tasks;
  std::thread::id ran_by;
  tasks.Run([&] { std::thread([&] { tasks.Run([&ran_by] { ran_by = std::this_thread::get_id(); }); }).join(); });
  EXPECT_EQ(ran_by, std::this_thread::get_id());
}

TEST(SerialTasks, EachTaskOfManyThreadsRunsOnceAndAlone) {
  constexpr int kThreads = 4;
  constexpr int kTasks = 2000;
  SerialTasks tasks;
  int ran = 0;  // No atomic: what runs alone needs none.
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&] {
      for (int i = 0; i < kTasks; ++i) tasks.Run([&ran] { ++ran; });
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(ran, kThreads * kTasks);
}

}  // namespace
}  // namespace verbena::rpc
