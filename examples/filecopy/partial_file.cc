#include "examples/filecopy/partial_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

#include "absl/strings/str_cat.h"
#include "examples/filecopy/file_error.h"

namespace verbena::examples {
namespace {

constexpr mode_t kFileMode = 0644;

// Gives the file its size and its disk space; not every file system can, and then writing will tell.
absl::Status Reserve(int fd, uint64_t bytes, const std::string& path) {
  if (bytes == 0) return absl::OkStatus();
  int result;
  do {
    result = fallocate(fd, 0, 0, static_cast<off_t>(bytes));
  } while (result != 0 && errno == EINTR);
  if (result == 0 || errno == EOPNOTSUPP || errno == ENOSYS) return absl::OkStatus();
  return FileError(absl::StrCat("reserve ", bytes, " bytes for"), path, errno);
}

}  // namespace

absl::StatusOr<PartialFile> PartialFile::Create(const std::string& directory, const std::string& name, uint64_t bytes) {
  if (bytes > static_cast<uint64_t>(INT64_MAX)) return FileError("make", name, EFBIG);
  std::string path = absl::StrCat(directory, "/.", name, ".XXXXXX.partial");
  const int fd = mkostemps(&path[0], sizeof(".partial") - 1, O_CLOEXEC);
  if (fd < 0) return FileError("make", path, errno);
  PartialFile file(std::move(path), absl::StrCat(directory, "/", name), fd);
  if (fchmod(fd, kFileMode) != 0) return FileError("set the mode of", file.partial_path_, errno);
  if (absl::Status status = Reserve(fd, bytes, file.partial_path_); !status.ok()) return status;
  return file;
}

PartialFile::PartialFile(std::string partial_path, std::string final_path, int fd)
    : partial_path_(std::move(partial_path)), final_path_(std::move(final_path)), fd_(fd) {}

PartialFile::PartialFile(PartialFile&& other) noexcept
    : partial_path_(std::exchange(other.partial_path_, std::string())),
      final_path_(std::move(other.final_path_)),
      fd_(std::exchange(other.fd_, -1)) {}

PartialFile::~PartialFile() {
  if (fd_ >= 0) close(fd_);
  if (!partial_path_.empty()) unlink(partial_path_.c_str());
}

absl::Status PartialFile::WriteAt(uint64_t offset, absl::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = pwrite(fd_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return FileError("write", final_path_, errno);
    offset += written;
    bytes.remove_prefix(written);
  }
  return absl::OkStatus();
}

absl::Status PartialFile::Commit() {
  if (fdatasync(fd_) != 0) return FileError("write", final_path_, errno);
  if (rename(partial_path_.c_str(), final_path_.c_str()) != 0) {
    return FileError(absl::StrCat("rename ", partial_path_, " to"), final_path_, errno);
  }
  partial_path_.clear();
  return absl::OkStatus();
}

}  // namespace verbena::examples
