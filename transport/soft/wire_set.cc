#include "transport/soft/wire_set.h"

#include <cerrno>

namespace verbena::soft {

int WireSet::Add(uint32_t queue_pair_index, int descriptor) {
  if (!epoll_.valid()) epoll_ = UniqueFd(epoll_create1(EPOLL_CLOEXEC));
  if (!epoll_.valid()) return errno;
  epoll_event event = {};
  event.events = EPOLLIN;
  event.data.u32 = queue_pair_index;
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, descriptor, &event) != 0) return errno;
  indices_.push_back(queue_pair_index);
  count_.store(indices_.size(), std::memory_order_relaxed);
  return 0;
}

void WireSet::Remove(uint32_t queue_pair_index) {
  std::erase(indices_, queue_pair_index);
  count_.store(indices_.size(), std::memory_order_relaxed);
}

void WireSet::Mute(int descriptor) { epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, descriptor, nullptr); }

}  // namespace verbena::soft
