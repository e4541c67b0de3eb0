#include "examples/filecopy/partial_file.h"

#include <fcntl.h>
#include <sys/file.h>
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
constexpr uint64_t kRecordMagic = 0x3174726170627276;  // "vrbpart1", in the byte order of this host, which it stays on.

// What stands after the file's bytes.
struct Record {
  uint64_t magic;
  uint64_t bytes;     // Of the whole file: where the record stands.
  uint64_t received;  // From the beginning on, without a gap.
};

absl::Status WriteAll(int fd, uint64_t offset, absl::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t written = pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return FileError("write", path, errno);
    offset += written;
    bytes.remove_prefix(written);
  }
  return absl::OkStatus();
}

// Gives the file its size and its disk space; not every file system can, and then writing will tell.
absl::Status Reserve(int fd, uint64_t bytes, const std::string& path) {
  int result;
  do {
    result = fallocate(fd, 0, 0, static_cast<off_t>(bytes));
  } while (result != 0 && errno == EINTR);
  if (result == 0 || errno == EOPNOTSUPP || errno == ENOSYS) return absl::OkStatus();
  return FileError(absl::StrCat("reserve ", bytes, " bytes for"), path, errno);
}

// A name is on the disk when its directory is.
absl::Status SyncDirectory(const std::string& directory) {
  const int fd = open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return FileError("open", directory, errno);
  const int error_number = fsync(fd) == 0 ? 0 : errno;
  close(fd);
  return error_number == 0 ? absl::OkStatus() : FileError("bring to the disk", directory, error_number);
}

bool IsDirectory(const std::string& path) {
  struct stat attributes;
  return stat(path.c_str(), &attributes) == 0 && S_ISDIR(attributes.st_mode);
}

}  // namespace

absl::StatusOr<PartialFile> PartialFile::Open(const std::string& directory, const std::string& name, uint64_t bytes,
                                              bool anew) {
  if (bytes > static_cast<uint64_t>(INT64_MAX) - sizeof(Record)) return FileError("make", name, EFBIG);
  const std::string path = absl::StrCat(directory, "/", kPartialPrefix, name, kPartialSuffix);
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, kFileMode);
  if (fd < 0) return FileError("make", path, errno);
  PartialFile file(directory, name, bytes, fd);
  if (absl::Status status = file.Lock(); !status.ok()) return status;
  if (absl::Status status = file.ReadRecord(anew); !status.ok()) return status;
  if (IsDirectory(file.final_path_)) {
    return absl::FailedPreconditionError(absl::StrCat(file.final_path_, " is a directory"));
  }
  if (file.received_ > 0) return file;
  if (absl::Status status = file.StartAnew(); !status.ok()) return status;
  return file;
}

PartialFile::PartialFile(const std::string& directory, const std::string& name, uint64_t bytes, int fd)
    : directory_(directory),
      partial_path_(absl::StrCat(directory, "/", kPartialPrefix, name, kPartialSuffix)),
      final_path_(absl::StrCat(directory, "/", name)),
      bytes_(bytes),
      fd_(fd) {}

PartialFile::PartialFile(PartialFile&& other) noexcept
    : directory_(std::move(other.directory_)),
      partial_path_(std::move(other.partial_path_)),
      final_path_(std::move(other.final_path_)),
      bytes_(other.bytes_),
      fd_(std::exchange(other.fd_, -1)),
      owned_(std::exchange(other.owned_, false)),
      received_(other.received_),
      dropped_(other.dropped_) {}

PartialFile::~PartialFile() {
  if (owned_ && received_ == 0) unlink(partial_path_.c_str());  // Before the lock goes, with the descriptor.
  if (fd_ >= 0) close(fd_);
}

absl::Status PartialFile::Lock() {
  struct stat opened;
  struct stat named;
  const bool locked = flock(fd_, LOCK_EX | LOCK_NB) == 0;
  if (!locked && errno != EWOULDBLOCK) return FileError("lock", partial_path_, errno);
  // Who had it before may have renamed or removed it between our opening and locking.
  const bool is_ours = locked && fstat(fd_, &opened) == 0 && lstat(partial_path_.c_str(), &named) == 0 &&
                       opened.st_ino == named.st_ino && opened.st_dev == named.st_dev;
  if (!is_ours) return absl::AbortedError(absl::StrCat(final_path_, " is being received by another transfer"));
  if (!S_ISREG(opened.st_mode)) {
    return absl::FailedPreconditionError(absl::StrCat(partial_path_, " is not a regular file"));
  }
  owned_ = true;
  return absl::OkStatus();
}

absl::Status PartialFile::ReadRecord(bool anew) {
  struct stat attributes;
  if (fstat(fd_, &attributes) != 0) return FileError("examine", partial_path_, errno);
  const uint64_t size = static_cast<uint64_t>(attributes.st_size);
  Record record = {};
  const bool is_read = size >= sizeof(record) &&
                       pread(fd_, &record, sizeof(record), static_cast<off_t>(size - sizeof(record))) == sizeof(record);
  const bool is_sound = is_read && record.magic == kRecordMagic && record.bytes == size - sizeof(record) &&
                        record.received <= record.bytes;
  if (is_sound && record.bytes == bytes_ && !anew) {
    received_ = record.received;
  } else {
    dropped_ = is_sound ? record.received : size;
  }
  return absl::OkStatus();
}

absl::Status PartialFile::StartAnew() {
  if (ftruncate(fd_, 0) != 0) return FileError("empty", partial_path_, errno);
  if (absl::Status status = Reserve(fd_, bytes_ + sizeof(Record), partial_path_); !status.ok()) return status;
  return SetReceived(0);
}

absl::Status PartialFile::WriteAt(uint64_t offset, absl::string_view chunk) {
  return WriteAll(fd_, offset, chunk, final_path_);
}

absl::Status PartialFile::SetReceived(uint64_t received) {
  const Record record = {.magic = kRecordMagic, .bytes = bytes_, .received = received};
  received_ = received;
  return WriteAll(fd_, bytes_, {reinterpret_cast<const char*>(&record), sizeof(record)}, final_path_);
}

absl::Status PartialFile::Commit() {
  // The long part first: an end of this process before the truncation costs nothing.
  if (fdatasync(fd_) != 0) return FileError("write", final_path_, errno);
  if (ftruncate(fd_, static_cast<off_t>(bytes_)) != 0) return FileError("write", final_path_, errno);
  if (fdatasync(fd_) != 0) return FileError("write", final_path_, errno);
  if (rename(partial_path_.c_str(), final_path_.c_str()) != 0) {
    return FileError(absl::StrCat("rename ", partial_path_, " to"), final_path_, errno);
  }
  owned_ = false;
  return SyncDirectory(directory_);
}

}  // namespace verbena::examples
