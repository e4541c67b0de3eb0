#include "rpc/names/background_task.h"

#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/memory/memory.h"
#include "transport/start_thread.h"

namespace verbena::rpc {
namespace {

constexpr absl::Duration kPollMax = absl::Hours(1);  // poll() counts milliseconds in an int.

}  // namespace

absl::Time MonotonicNow() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return absl::TimeFromTimespec(now);
}

BackgroundTask::~BackgroundTask() {
  if (wake_fd_ >= 0) close(wake_fd_);
}

absl::Status BackgroundTask::Open() {
  wake_fd_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  return wake_fd_ >= 0 ? absl::OkStatus() : absl::ErrnoToStatus(errno, "eventfd");
}

void BackgroundTask::Stop() {
  stopping_.store(true, std::memory_order_release);
  Wake();
}

void BackgroundTask::Wake() {
  const uint64_t one = 1;
  while (write(wake_fd_, &one, sizeof(one)) < 0 && errno == EINTR) {
  }
}

void BackgroundTask::ClearWake() {
  uint64_t count = 0;
  while (read(wake_fd_, &count, sizeof(count)) < 0 && errno == EINTR) {
  }
}

void BackgroundTask::Await(absl::Time until, absl::Span<pollfd> descriptors) {
  std::vector<pollfd> all(descriptors.begin(), descriptors.end());
  all.push_back({wake_fd_, POLLIN, 0});
  const absl::Duration left = std::clamp(until - MonotonicNow(), absl::ZeroDuration(), kPollMax);
  poll(all.data(), all.size(), static_cast<int>(absl::ToInt64Milliseconds(absl::Ceil(left, absl::Milliseconds(1)))));
  std::copy_n(all.begin(), descriptors.size(), descriptors.begin());
  ClearWake();
}

void BackgroundTask::SleepUntil(absl::Time until) {
  while (!stopping() && MonotonicNow() < until) Await(until);
}

absl::StatusOr<std::unique_ptr<BackgroundThread>> BackgroundThread::Start(std::shared_ptr<BackgroundTask> task) {
  if (const absl::Status status = task->Open(); !status.ok()) return status;
  std::unique_ptr<BackgroundThread> started = absl::WrapUnique(new BackgroundThread(task));
  absl::StatusOr<std::thread> thread = StartThread("a list of servers", [task] { task->Run(); });
  if (!thread.ok()) return thread.status();
  started->thread_ = *std::move(thread);
  return started;
}

BackgroundThread::~BackgroundThread() {
  task_->Stop();
  if (!thread_.joinable()) return;
  if (thread_.get_id() == std::this_thread::get_id()) {
    thread_.detach();
  } else {
    thread_.join();
  }
}

}  // namespace verbena::rpc
