// On which processors event loops run, and on which memory nodes what they have is.

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <future>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "transport/endpoint.h"
#include "transport/event_loop.h"
#include "transport/numa_node.h"
#include "transport/payload_arena.h"

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

// The memory node of each page, or what is negative and says why there is none.
std::vector<int> NodesOf(const PayloadBlock& block) {
  const auto page_bytes = static_cast<size_t>(getpagesize());
  std::vector<void*> pages;
  for (size_t at = 0; at < block.capacity(); at += page_bytes) pages.push_back(block.data() + at);
  std::vector<int> nodes(pages.size());
  const long moved = syscall(SYS_move_pages, 0, pages.size(), pages.data(), nullptr, nodes.data(), 0);  // None.
  return moved == 0 ? nodes : std::vector<int>{-errno};
}

// Also what other loops had before, and gave back.
TEST(Placement, PayloadsAreInMemoryOfTheirLoopsNode) {
  constexpr size_t kBytes = 1 << 20;
  const char* const guest = std::getenv("VERBENA_GUEST");  // That machine has a memory node for each processor.
  const bool must_differ = guest != nullptr && std::string_view(guest) == "qemu";
  bool several = false;
  for (int round = 0; round < 2; ++round) {
    for (const int processor : Processors()) {
      const auto loops = *EventLoopGroup::Start(1, {.cpu = processor});
      std::promise<std::pair<int, std::vector<int>>> found;
      loops->loop(0)->Post([&found] {
        const BlockRef block = *PayloadArena::Get().Allocate(kBytes);
        block->PrepareToWrite(kBytes);
        std::memset(block->data(), 'x', block->capacity());
        found.set_value({NumaNodeOfThisThread(), NodesOf(*block.get())});
      });
      const auto [node, of_pages] = found.get_future().get();
      if (of_pages == std::vector<int>{-ENOSYS} && !must_differ) GTEST_SKIP() << "the kernel knows of no memory nodes";
      if (of_pages == std::vector<int>{-EPERM} && !must_differ) GTEST_SKIP() << "to ask for memory nodes is forbidden";
      EXPECT_EQ(of_pages, std::vector<int>(of_pages.size(), node)) << "processor " << processor;
      several |= node != 0;
    }
  }
  EXPECT_TRUE(several || !must_differ);
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
