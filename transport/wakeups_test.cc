// How often tasks that others post wake a loop that sleeps: counted where the system call is made.

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <memory>
#include <thread>

#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "transport/endpoint.h"
#include "transport/event_loop.h"

namespace {

std::atomic<int> writes = 0;  // Of eight bytes, as one to an eventfd has.

}  // namespace

// In place of libc's, for all of this program.
extern "C" ssize_t write(int fd, const void* bytes, size_t count) {
  if (count == sizeof(uint64_t)) ++writes;
  return syscall(SYS_write, fd, bytes, count);
}

namespace verbena::transport {
namespace {

TEST(Wakeups, ManyTasksForALoopThatSleepsWakeItOnce) {
  EventLoopOptions options;
  options.wait = WaitPolicy::kEvent;
  const auto group = *EventLoopGroup::Start(1, options);
  EventLoop* const loop = group->loop(0);
  int wakes = 0;
  for (int tries = 0; wakes == 0 && tries < 1000; ++tries) {  // Until it sleeps when the first is posted.
    absl::SleepFor(absl::Milliseconds(10));
    const int before = writes;
    std::promise<void> all_posted;
    std::promise<void> last_ran;
    loop->Post([&] { all_posted.get_future().wait(); });
    for (int i = 0; i < 1000; ++i) loop->Post([] {});
    loop->Post([&] { last_ran.set_value(); });
    all_posted.set_value();
    last_ran.get_future().wait();
    wakes = writes - before;
  }
  EXPECT_EQ(wakes, 1);
}

}  // namespace
}  // namespace verbena::transport
