#include "transport/soft/completion_channel.h"

#include <fcntl.h>

#include <algorithm>
#include <utility>

#include "transport/soft/completion_queue.h"
#include "transport/soft/event_fd.h"

namespace verbena::soft {

CompletionChannel::CompletionChannel(ibv_context* device_context, UniqueFd eventfd, uint64_t serial)
    : ibv_comp_channel{.context = device_context, .fd = eventfd.get(), .refcnt = 0},
      eventfd_(std::move(eventfd)),
      serial_(serial) {}

int CompletionChannel::GetEvent(CompletionQueue** queue) {
  while (true) {
    if (int error = DrainEventFd(fd); error != 0) return error;
    {
      std::lock_guard lock(events_mu_);
      ++getters_;
    }
    ProgressMembers();
    *queue = PopEvent();
    if (*queue != nullptr) return 0;
  }
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
  if (!waiting_.empty()) SignalEventFd(fd);
  return queue;
}

void CompletionChannel::Enqueue(CompletionQueue* queue) {
  std::lock_guard lock(events_mu_);
  waiting_.push_back(queue);
  if (getters_ == 0) SignalEventFd(fd);
}

void CompletionChannel::Wake() { SignalEventFd(fd); }

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

UniqueFd CompletionChannel::DuplicateFd() const { return UniqueFd(fcntl(fd, F_DUPFD_CLOEXEC, 0)); }

}  // namespace verbena::soft
