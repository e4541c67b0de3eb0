#include "rpc/names/directory_watch.h"

#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

namespace verbena::rpc {
namespace {

// Not IN_CREATE, which comes before a file has its content, nor IN_MODIFY, which comes for each part of it.
constexpr uint32_t kChanged = IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE;
constexpr uint32_t kDirectoryGone = IN_DELETE_SELF | IN_MOVE_SELF | IN_UNMOUNT | IN_IGNORED;

}  // namespace

bool DirectoryWatch::Open() {
  struct stat now = {};  // First: if a link is switched between the two, the next call finds out.
  if (stat(directory_.c_str(), &now) != 0) now = {};
  if (fd_ >= 0 && now.st_dev == device_ && now.st_ino == inode_) return true;
  Close();
  device_ = now.st_dev;
  inode_ = now.st_ino;
  fd_ = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
  if (fd_ < 0) return false;
  if (inotify_add_watch(fd_, directory_.c_str(), kChanged | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR) >= 0)
    return true;
  Close();
  return false;
}

void DirectoryWatch::Drain() {
  alignas(inotify_event) char events[4096];
  bool gone = false;
  while (fd_ >= 0) {
    const ssize_t length = read(fd_, events, sizeof(events));
    if (length < 0 && errno == EINTR) continue;
    if (length <= 0) break;
    for (ssize_t at = 0; at < length;) {
      const auto* event = reinterpret_cast<const inotify_event*>(events + at);
      gone |= (event->mask & kDirectoryGone) != 0;
      at += static_cast<ssize_t>(sizeof(inotify_event) + event->len);
    }
  }
  if (gone) Close();
}

void DirectoryWatch::Close() {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
}

}  // namespace verbena::rpc
