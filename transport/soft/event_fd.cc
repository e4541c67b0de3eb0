#include "transport/soft/event_fd.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <string_view>

namespace verbena::soft {

// Asking first is for a counter that a peer has filled: on a descriptor that blocks, the write would wait until
// somebody reads, and who reads may be the very thread that writes.
void SignalEventFd(int fd) {
  pollfd writable = {.fd = fd, .events = POLLOUT, .revents = 0};
  if (poll(&writable, 1, 0) != 1) return;
  uint64_t one = 1;
  [[maybe_unused]] ssize_t written = write(fd, &one, sizeof(one));
}

int DrainEventFd(int fd) {
  uint64_t count = 0;
  return read(fd, &count, sizeof(count)) == sizeof(count) ? 0 : errno;
}

bool IsEventFd(const UniqueFd& fd) {
  constexpr std::string_view kName = "anon_inode:[eventfd]";
  char target[64];
  std::string link = "/proc/self/fd/" + std::to_string(fd.get());
  ssize_t length = readlink(link.c_str(), target, sizeof(target));
  return length > 0 && std::string_view(target, static_cast<size_t>(length)) == kName;
}

}  // namespace verbena::soft
