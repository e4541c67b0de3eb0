#include "transport/soft/completion_channel.h"

#include <fcntl.h>
#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "transport/soft/completion_queue.h"

namespace verbena::soft {

namespace {

int WatchForInput(int epoll, int descriptor) {
  epoll_event event = {};
  event.events = EPOLLIN;
  return epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event) == 0 || errno == EEXIST ? 0 : errno;
}

}  // namespace

CompletionChannel::CompletionChannel(ibv_context* device_context, WakePipe pipe, UniqueFd wires, uint64_t serial)
    : ibv_comp_channel{.context = device_context, .fd = wires.valid() ? wires.get() : pipe.fd(), .refcnt = 0},
      pipe_(std::move(pipe)),
      wires_(std::move(wires)),
      serial_(serial) {
  if (!wires_.valid()) return;
  pipe_.SetNonBlocking();
  WatchForInput(wires_.get(), pipe_.fd());
}

int CompletionChannel::GetEvent(CompletionQueue** queue) {
  bool awake = wires_.valid();  // What waits in a wire can be had without waiting.
  while (true) {
    if (!std::exchange(awake, false)) {
      if (int error = Await(); error != 0) return error;
    }
    {
      std::lock_guard lock(events_mu_);
      ++getters_;
    }
    ProgressMembers();
    *queue = PopEvent();
    if (*queue != nullptr) return 0;
  }
}

int CompletionChannel::Await() {
  if (!wires_.valid()) return pipe_.Drain();
  bool blocks = (fcntl(fd, F_GETFL) & O_NONBLOCK) == 0;
  epoll_event event;
  int count = epoll_wait(fd, &event, 1, blocks ? -1 : 0);
  if (count <= 0) return count == 0 ? EAGAIN : errno;
  pipe_.Drain();
  return 0;
}

int CompletionChannel::AddWire(int descriptor) { return wires_.valid() ? WatchForInput(wires_.get(), descriptor) : 0; }

void CompletionChannel::MuteWire(int descriptor) {
  if (wires_.valid()) epoll_ctl(wires_.get(), EPOLL_CTL_DEL, descriptor, nullptr);
}

void CompletionChannel::ProgressMembers() {
  std::lock_guard lock(members_mu_);
  for (CompletionQueue* member : members_) member->ProgressAfterWake();
}

CompletionQueue* CompletionChannel::PopEvent() {
  std::lock_guard lock(events_mu_);
  --getters_;
  if (waiting_.empty()) return nullptr;
  CompletionQueue* queue = waiting_.front();
  waiting_.erase(waiting_.begin());
  queue->CountEventRead();
  seen_waiting_ = false;
  if (!waiting_.empty()) pipe_.Wake();
  return queue;
}

void CompletionChannel::Enqueue(CompletionQueue* queue) {
  std::lock_guard lock(events_mu_);
  waiting_.push_back(queue);
  if (getters_ == 0) pipe_.Wake();
}

bool CompletionChannel::RemindOfEvents() {
  std::lock_guard lock(events_mu_);
  if (waiting_.empty()) return false;
  if (std::exchange(seen_waiting_, true)) pipe_.Wake();
  return true;
}

void CompletionChannel::Join(CompletionQueue* queue) {
  std::lock_guard lock(members_mu_);
  members_.push_back(queue);
}

void CompletionChannel::Leave(CompletionQueue* queue) {
  std::lock_guard members_lock(members_mu_);
  std::erase(members_, queue);
  std::lock_guard events_lock(events_mu_);
  std::erase(waiting_, queue);
}

bool CompletionChannel::HasMembers() {
  std::lock_guard lock(members_mu_);
  return !members_.empty();
}

}  // namespace verbena::soft
