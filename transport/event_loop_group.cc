#include <pthread.h>
#include <sched.h>

#include <cstring>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "transport/endpoint.h"
#include "transport/start_thread.h"

namespace verbena::transport {
namespace {

constexpr int kLoopsMax = 1024;

absl::Status PinThread(std::thread& thread, int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  const int error = pthread_setaffinity_np(thread.native_handle(), sizeof(set), &set);
  if (error == 0) return absl::OkStatus();
  return absl::ErrnoToStatus(error, absl::StrCat("event loop: cannot pin its thread to processor ", cpu));
}

class ThreadedLoops : public EventLoopGroup {
 public:
  ~ThreadedLoops() override {
    for (const std::unique_ptr<EventLoop>& loop : loops_) loop->Stop();
    for (std::thread& thread : threads_) thread.join();
  }

  // The next of `count`.
  absl::Status AddLoop(const EventLoopOptions& options, int count) {
    absl::StatusOr<std::unique_ptr<EventLoop>> loop = EventLoop::Create(options);
    if (!loop.ok()) return loop.status();
    absl::StatusOr<std::thread> thread = StartThread(absl::StrCat("event loop ", loops_.size() + 1, " of ", count),
                                                     [loop = loop->get()] { loop->RunUntil([] { return false; }); });
    if (!thread.ok()) return thread.status();
    loops_.push_back(*std::move(loop));
    threads_.push_back(*std::move(thread));
    return options.cpu < 0 ? absl::OkStatus() : PinThread(threads_.back(), options.cpu);
  }

  size_t size() const override { return loops_.size(); }
  EventLoop* loop(size_t index) const override { return loops_[index].get(); }

 private:
  std::vector<std::unique_ptr<EventLoop>> loops_;
  std::vector<std::thread> threads_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<EventLoopGroup>> EventLoopGroup::Start(int count, const EventLoopOptions& options) {
  if (count < 1 || count > kLoopsMax) {
    return absl::InvalidArgumentError(absl::StrCat("event loops: ", count, " asked for; from 1 to ", kLoopsMax));
  }
  if (options.cpu >= CPU_SETSIZE) {
    return absl::InvalidArgumentError(absl::StrCat("event loops: there is no processor ", options.cpu));
  }
  auto group = std::make_unique<ThreadedLoops>();
  for (int i = 0; i < count; ++i) {
    EventLoopOptions own = options;
    if (own.cpu >= 0) own.cpu += i;  // A core each, from the one that was named.
    if (absl::Status added = group->AddLoop(own, count); !added.ok()) return added;
  }
  return group;
}

}  // namespace verbena::transport
