#include "transport/soft/progress_thread.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <string_view>
#include <thread>
#include <utility>

#include "transport/soft/event_fd.h"

namespace verbena::soft {
namespace {

constexpr int kEventsMax = 64;  // Taken from the kernel at once.

bool ThreadIsWanted() {
  const char* value = std::getenv("VERBENA_SOFT_PROGRESS");
  return value == nullptr || std::string_view(value) != "polls";
}

}  // namespace

ProgressThread::ProgressThread(UniqueFd wake, UniqueFd watched) : wake_(std::move(wake)), watched_(std::move(watched)) {
  epoll_event event = {.events = EPOLLIN, .data = {.fd = wake_.get()}};
  epoll_ctl(watched_.get(), EPOLL_CTL_ADD, wake_.get(), &event);
}

// The application's signals are not for this thread.
void ProgressThread::Start() {
  std::call_once(start_once_, [this] {
    if (!ThreadIsWanted()) return;
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    std::thread thread([this] { Run(); });
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    pthread_setname_np(thread.native_handle(), "soft-progress");
    thread.detach();
  });
}

void ProgressThread::Wake() { SignalEventFd(wake_.get()); }

UniqueFd ProgressThread::DuplicateFd() const { return UniqueFd(fcntl(wake_.get(), F_DUPFD_CLOEXEC, 0)); }

int ProgressThread::Watch(int fd, std::function<void()> on_ready) {
  std::lock_guard lock(callbacks_mu_);
  epoll_event event = {.events = EPOLLONESHOT, .data = {.fd = fd}};
  if (epoll_ctl(watched_.get(), EPOLL_CTL_ADD, fd, &event) != 0) return errno;
  callbacks_[fd] = std::move(on_ready);
  Start();
  return 0;
}

int ProgressThread::Await(int fd, uint32_t events) {
  epoll_event event = {.events = events | EPOLLONESHOT, .data = {.fd = fd}};
  return epoll_ctl(watched_.get(), EPOLL_CTL_MOD, fd, &event) == 0 ? 0 : errno;
}

void ProgressThread::Unwatch(int fd) {
  std::lock_guard lock(callbacks_mu_);
  epoll_ctl(watched_.get(), EPOLL_CTL_DEL, fd, nullptr);
  callbacks_.erase(fd);
}

void ProgressThread::Run() {
  std::array<epoll_event, kEventsMax> events;
  while (true) {
    int count = epoll_wait(watched_.get(), events.data(), kEventsMax, -1);
    for (int i = 0; i < count; ++i) {
      if (events[i].data.fd == wake_.get()) {
        DrainEventFd(wake_.get());
      } else {
        CallBack(events[i].data.fd);
      }
    }
  }
}

void ProgressThread::CallBack(int fd) {
  std::lock_guard lock(callbacks_mu_);
  auto callback = callbacks_.find(fd);
  if (callback != callbacks_.end()) callback->second();
}

}  // namespace verbena::soft
