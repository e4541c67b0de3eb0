#include "transport/soft/control_io/control_thread.h"

#include <sys/eventfd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>

#include "transport/soft/control_io/device_thread.h"

namespace verbena::soft {
namespace {

constexpr uint64_t kWakeKey = 0;
constexpr int kReadablePerWaitMax = 64;

// Milliseconds for epoll_wait: rounded up, so that a deadline has passed when it returns.
int WaitMilliseconds(std::optional<ControlThread::TimePoint> next, ControlThread::TimePoint now) {
  if (!next.has_value()) return -1;
  auto left = std::chrono::ceil<std::chrono::milliseconds>(*next - now).count();
  return static_cast<int>(std::clamp<int64_t>(left, 0, std::numeric_limits<int>::max()));
}

}  // namespace

ControlThread::~ControlThread() {
  if (!thread_.joinable()) return;
  stopping_.store(true);
  Wake();
  thread_.join();
}

int ControlThread::Start() {
  if (thread_.joinable()) return 0;
  UniqueFd epoll(epoll_create1(EPOLL_CLOEXEC));
  UniqueFd wake(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!epoll.valid() || !wake.valid()) return errno;
  epoll_ = std::move(epoll);
  wake_ = std::move(wake);
  if (int error = Watch(wake_.get(), kWakeKey); error != 0) return error;
  return StartDeviceThread(
      "soft-cm", [this] { Run(); }, &thread_);
}

int ControlThread::Watch(int fd, uint64_t key, uint32_t events) {
  epoll_event event = {};
  event.events = events;
  event.data.u64 = key;
  if (descriptors_.Note(fd)) Wake();
  return epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0 ? 0 : errno;
}

void ControlThread::Rewatch(int fd, uint64_t key, uint32_t events) {
  epoll_event event = {};
  event.events = events;
  event.data.u64 = key;
  epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event);
}

void ControlThread::Unwatch(int fd) { epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr); }

void ControlThread::Wake() { eventfd_write(wake_.get(), 1); }

void ControlThread::Abandon() {
  epoll_.Reset();
  wake_.Reset();
}

void ControlThread::Run() {
  std::array<epoll_event, kReadablePerWaitMax> ready;
  while (!stopping_.load()) {
    TimePoint now = std::chrono::steady_clock::now();
    int timeout_ms = WaitMilliseconds(delegate_.OnTime(now), now);
    int count = epoll_wait(epoll_.get(), ready.data(), kReadablePerWaitMax, timeout_ms);
    for (int i = 0; i < count; ++i) {
      descriptors_.MakeRoom(wake_.get());
      if (ready[i].data.u64 != kWakeKey) {
        delegate_.OnReadable(ready[i].data.u64);
      } else {
        eventfd_t ignored;
        eventfd_read(wake_.get(), &ignored);
      }
    }
  }
}

}  // namespace verbena::soft
