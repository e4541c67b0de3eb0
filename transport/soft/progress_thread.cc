#include "transport/soft/progress_thread.h"

#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <limits>
#include <string_view>
#include <thread>
#include <utility>

#include "transport/soft/completion_queue.h"
#include "transport/soft/control_io/device_thread.h"
#include "transport/soft/queue_pair.h"

namespace verbena::soft {
namespace {

constexpr int kEventsMax = 64;  // Taken from the kernel at once.

thread_local bool is_progress_thread = false;

bool ThreadIsWanted() {
  const char* value = std::getenv("VERBENA_SOFT_PROGRESS");
  return value == nullptr || std::string_view(value) != "polls";
}

}  // namespace

ProgressThread::ProgressThread(WakePipe wake, UniqueFd watched)
    : enabled_(ThreadIsWanted()), wake_(std::move(wake)), watched_(std::move(watched)) {
  wake_.SetNonBlocking();
  epoll_event event = {.events = EPOLLIN, .data = {.fd = wake_.fd()}};
  epoll_ctl(watched_.get(), EPOLL_CTL_ADD, wake_.fd(), &event);
}

bool ProgressThread::IsCaller() { return is_progress_thread; }

int ProgressThread::Start() {
  std::lock_guard lock(start_mu_);
  if (started_ || !enabled_) return 0;
  std::thread thread;
  int error = StartDeviceThread(
      "soft-progress", [this] { Run(); }, &thread);
  if (error != 0) return error;
  thread.detach();
  started_ = true;
  return 0;
}

void ProgressThread::Join(CompletionQueue* queue) {
  std::lock_guard lock(roster_mu_);
  queues_.push_back(queue);
}

void ProgressThread::Leave(CompletionQueue* queue) {
  std::lock_guard lock(roster_mu_);
  std::erase(queues_, queue);
}

void ProgressThread::Leave(QueuePair* queue_pair) {
  std::lock_guard lock(roster_mu_);
  std::lock_guard newcomers_lock(newcomers_mu_);
  supervised_.Remove(queue_pair);
  std::erase(newcomers_, queue_pair);
}

void ProgressThread::Supervise(QueuePair* queue_pair) {
  {
    std::lock_guard lock(newcomers_mu_);
    newcomers_.push_back(queue_pair);
  }
  WakeIfIdle();
}

int ProgressThread::Watch(int fd, std::function<void()> on_ready) {
  std::lock_guard lock(callbacks_mu_);
  epoll_event event = {.events = EPOLLONESHOT, .data = {.fd = fd}};
  if (epoll_ctl(watched_.get(), EPOLL_CTL_ADD, fd, &event) != 0) return errno;
  callbacks_[fd] = std::move(on_ready);
  return Start();
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
  is_progress_thread = true;
  while (true) Sleep(Tick(Clock::now()));
}

std::optional<ProgressThread::Clock::time_point> ProgressThread::TickQueues(Clock::time_point now) {
  bool attended = false;
  bool events_wait = false;
  uint32_t fewest_polls = queues_.empty() ? 0 : std::numeric_limits<uint32_t>::max();
  for (CompletionQueue* queue : queues_) {
    const uint32_t polls = queue->attended() ? queue->TakePolls() : 0;
    attended = attended || polls > 0;
    fewest_polls = std::min(fewest_polls, polls);
    CompletionChannel* channel = queue->event_channel();
    events_wait = (channel != nullptr && channel->RemindOfEvents()) || events_wait;
  }
  pace_.OnLook(fewest_polls);
  if (attended) return now + pace_.interval();
  return events_wait ? std::optional(now + kReminder) : std::nullopt;
}

std::optional<ProgressThread::Clock::time_point> ProgressThread::Tick(Clock::time_point now) {
  std::lock_guard lock(roster_mu_);
  std::optional<Clock::time_point> next = TickQueues(now);
  {
    std::lock_guard newcomers_lock(newcomers_mu_);
    supervised_.Add(newcomers_);
    newcomers_.clear();
  }
  SuperviseInTurn(now, next);
  return next;
}

// Whoever polls sees to all that is due but for a peer that has gone silent, which can wait for the next look.
void ProgressThread::SuperviseInTurn(Clock::time_point now, std::optional<Clock::time_point>& next) {
  supervised_.LookAtNext(pace_.PairsToLookAt(supervised_.size()), [&](QueuePair* queue_pair) {
    const std::optional<Clock::time_point> due = queue_pair->Supervise(now);
    if (due.has_value() && !pace_.settled() && (!next.has_value() || *due < *next)) next = due;
    return due.has_value();
  });
}

void ProgressThread::Sleep(std::optional<Clock::time_point> next) {
  idle_.store(!next.has_value());
  int timeout_ms = -1;
  if (next.has_value()) {
    auto left = std::chrono::ceil<std::chrono::milliseconds>(*next - Clock::now());
    timeout_ms = static_cast<int>(std::max<int64_t>(left.count(), 0));
  } else if (SomethingIsDue()) {
    timeout_ms = 0;
  }
  std::array<epoll_event, kEventsMax> events;
  int count = epoll_wait(watched_.get(), events.data(), kEventsMax, timeout_ms);
  idle_.store(false);
  for (int i = 0; i < count; ++i) {
    if (events[i].data.fd == wake_.fd()) {
      wake_.Drain();
      HelpEverybody();
    } else {
      CallBack(events[i].data.fd);
    }
  }
}

bool ProgressThread::SomethingIsDue() {
  std::lock_guard lock(roster_mu_);
  std::lock_guard newcomers_lock(newcomers_mu_);
  return !newcomers_.empty() ||
         std::any_of(queues_.begin(), queues_.end(), [](const CompletionQueue* queue) { return queue->attended(); });
}

// If nobody has news, news were lost: a peer that shares a ready map can clear the bits of others.
void ProgressThread::HelpEverybody() {
  std::lock_guard lock(roster_mu_);
  bool found = false;
  for (CompletionQueue* queue : queues_) found = queue->Help(false) || found;
  if (found || woken_by_us_.exchange(false)) return;
  for (CompletionQueue* queue : queues_) queue->Help(true);
}

void ProgressThread::CallBack(int fd) {
  std::lock_guard lock(callbacks_mu_);
  auto callback = callbacks_.find(fd);
  if (callback != callbacks_.end()) callback->second();
}

}  // namespace verbena::soft
