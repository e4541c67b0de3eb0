#include "transport/soft/wake_pipe.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>
#include <string_view>

namespace verbena::soft {
namespace {

// A pipe without a name: to open another kind of file again may block, or do things. (A pipe that has one may lie in a
// file system of the peer's.)
bool IsPipe(const std::string& path) {
  constexpr std::string_view kKind = "pipe:[";
  std::array<char, 64> target;
  ssize_t length = readlink(path.c_str(), target.data(), target.size());
  return length > 0 && std::string_view(target.data(), static_cast<size_t>(length)).starts_with(kKind);
}

}  // namespace

// For reading too: a pipe that somebody can read raises no SIGPIPE.
WakeWriter WakeWriter::Open(const UniqueFd& fd) {
  std::string path = "/proc/self/fd/" + std::to_string(fd.get());
  if (!IsPipe(path)) {
    errno = EINVAL;
    return WakeWriter();
  }
  return WakeWriter(UniqueFd(open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC)));
}

void WakeWriter::Wake() const {
  char look = 0;
  [[maybe_unused]] ssize_t written = write(fd_.get(), &look, sizeof(look));
}

std::optional<WakePipe> WakePipe::Create() {
  std::array<int, 2> ends;
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return std::nullopt;
  fcntl(ends[1], F_SETFL, O_NONBLOCK);
  return WakePipe(UniqueFd(ends[0]), WakeWriter(UniqueFd(ends[1])));
}

void WakePipe::SetNonBlocking() const { fcntl(reader_.get(), F_SETFL, O_NONBLOCK); }

int WakePipe::Drain() const {
  std::array<char, 1024> looks;
  return read(reader_.get(), looks.data(), looks.size()) > 0 ? 0 : errno;
}

}  // namespace verbena::soft
