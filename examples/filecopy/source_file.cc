#include "examples/filecopy/source_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "examples/filecopy/file_error.h"

namespace verbena::examples {
namespace {

ssize_t ReadSome(int fd, void* to, size_t size) {
  ssize_t result;
  do {
    result = read(fd, to, size);
  } while (result < 0 && errno == EINTR);
  return result;
}

}  // namespace

absl::StatusOr<SourceFile> SourceFile::Open(const std::string& path) {
  // O_NONBLOCK: opening a pipe must not wait for its other end; it changes nothing for a file.
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return FileError("open", path, errno);
  SourceFile file(path, fd);
  struct stat attributes;
  if (fstat(fd, &attributes) != 0) return FileError("examine", path, errno);
  if (!S_ISREG(attributes.st_mode)) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, S_ISDIR(attributes.st_mode) ? " is a directory" : " is not a regular file"));
  }
  file.size_ = static_cast<uint64_t>(attributes.st_size);
  file.modified_ = attributes.st_mtim;
  posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
  return file;
}

SourceFile::SourceFile(SourceFile&& other) noexcept
    : path_(std::move(other.path_)),
      fd_(std::exchange(other.fd_, -1)),
      size_(other.size_),
      modified_(other.modified_) {}

SourceFile::~SourceFile() {
  if (fd_ >= 0) close(fd_);
}

absl::Status SourceFile::Read(absl::Span<std::byte> to) {
  while (!to.empty()) {
    const ssize_t read = ReadSome(fd_, to.data(), to.size());
    if (read < 0) return FileError("read", path_, errno);
    if (read == 0) return absl::AbortedError(absl::StrCat(path_, " became shorter while it was read"));
    to.remove_prefix(read);
  }
  return absl::OkStatus();
}

absl::Status SourceFile::Rewind() {
  if (lseek(fd_, 0, SEEK_SET) != 0) return FileError("read", path_, errno);
  return absl::OkStatus();
}

absl::Status SourceFile::CheckUnchanged() const {
  char more;  // Looked for first: what a file grows by while this looks shows in its size.
  const bool has_more = pread(fd_, &more, sizeof(more), static_cast<off_t>(size_)) > 0;
  struct stat now;
  if (fstat(fd_, &now) != 0) return FileError("examine", path_, errno);
  const bool same_size = static_cast<uint64_t>(now.st_size) == size_;
  if (!same_size || now.st_mtim.tv_sec != modified_.tv_sec || now.st_mtim.tv_nsec != modified_.tv_nsec) {
    return absl::AbortedError(absl::StrCat(path_, " was changed while it was read"));
  }
  // Files of /proc and /sys have their contents from the kernel, when they are read, and any size.
  if (!has_more) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(path_, " has more than the ", size_, " bytes that its file system says; send a copy of it"));
}

}  // namespace verbena::examples
