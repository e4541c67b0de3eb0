#include "examples/chat/line_input.h"

#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "absl/memory/memory.h"

namespace verbena::examples {
namespace {

constexpr size_t kCharacterBytesMax = 4;  // In UTF-8.

bool IsWithinCharacter(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) == 0x80; }

// Up to where `text`, which is longer, is cut: `bytes_max`, or the beginning of the character that this would cut.
size_t EndOfPiece(const std::string& text, size_t bytes_max) {
  size_t end = bytes_max;
  while (end > 0 && bytes_max - end < kCharacterBytesMax && IsWithinCharacter(text[end])) --end;
  return end > 0 && bytes_max - end < kCharacterBytesMax ? end : bytes_max;
}

}  // namespace

absl::StatusOr<std::unique_ptr<LineInput>> LineInput::Create(int fd, size_t line_bytes_max) {
  const int stop_fd = eventfd(0, EFD_CLOEXEC);
  if (stop_fd < 0) return absl::ErrnoToStatus(errno, "cannot make an eventfd");
  return absl::WrapUnique(new LineInput(fd, stop_fd, line_bytes_max));
}

LineInput::~LineInput() { close(stop_fd_); }

std::optional<std::string> LineInput::Next() {
  for (;;) {
    const size_t end = read_.find('\n');
    if (end != std::string::npos && end <= line_bytes_max_) {
      std::string line = Take(end);
      read_.erase(0, 1);
      return line;
    }
    if (read_.size() > line_bytes_max_) return Take(EndOfPiece(read_, line_bytes_max_));
    if (!ReadMore()) break;
  }
  if (read_.empty()) return std::nullopt;
  return Take(read_.size());
}

void LineInput::Stop() { eventfd_write(stop_fd_, 1); }

bool LineInput::ReadMore() {
  pollfd polled[] = {{stop_fd_, POLLIN, 0}, {fd_, POLLIN, 0}};
  while (poll(polled, 2, -1) < 0) {
    if (errno != EINTR) return false;
  }
  if (polled[0].revents != 0) {
    read_.clear();
    return false;
  }
  char bytes[4096];
  const ssize_t count = read(fd_, bytes, sizeof(bytes));
  if (count <= 0) return count < 0 && errno == EINTR;
  read_.append(bytes, static_cast<size_t>(count));
  return true;
}

std::string LineInput::Take(size_t bytes) {
  std::string taken = read_.substr(0, bytes);
  read_.erase(0, bytes);
  return taken;
}

}  // namespace verbena::examples
