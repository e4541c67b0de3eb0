// On which processors event loops run.

#include <sched.h>

#include <cstddef>
#include <future>
#include <memory>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "transport/endpoint.h"
#include "transport/event_loop.h"

namespace verbena::transport {
namespace {

using ::testing::HasSubstr;

// That the calling thread may run on.
std::set<int> Processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  EXPECT_EQ(sched_getaffinity(0, sizeof(set), &set), 0);
  std::set<int> processors;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) processors.insert(cpu);
  }
  return processors;
}

std::set<int> ProcessorsOf(EventLoop& loop) {
  std::promise<std::set<int>> processors;
  loop.Post([&processors] { processors.set_value(Processors()); });
  return processors.get_future().get();
}

TEST(Placement, LoopsArePinnedToAProcessorEachFromTheOneThatWasNamed) {
  const std::set<int> allowed = Processors();
  for (const int first : allowed) {
    const size_t count = allowed.contains(first + 1) ? 2 : 1;
    const auto loops = *EventLoopGroup::Start(static_cast<int>(count), {.cpu = first});
    for (size_t i = 0; i < count; ++i) {
      EXPECT_EQ(ProcessorsOf(*loops->loop(i)), std::set<int>{first + static_cast<int>(i)});
    }
  }
}

TEST(Placement, LoopsAreLeftToTheSystemIfNoneWasNamed) {
  const auto loops = *EventLoopGroup::Start(2, {});
  for (size_t i = 0; i < 2; ++i) EXPECT_EQ(ProcessorsOf(*loops->loop(i)), Processors());
}

TEST(Placement, AProcessorThatIsNotThereIsAnErrorThatNamesIt) {
  for (const int cpu : {CPU_SETSIZE - 1, CPU_SETSIZE, CPU_SETSIZE + 1}) {
    const absl::Status status = EventLoopGroup::Start(1, {.cpu = cpu}).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(std::to_string(cpu)));
  }
}

}  // namespace
}  // namespace verbena::transport
