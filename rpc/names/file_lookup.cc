#include "rpc/names/file_lookup.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "rpc/names/address_file.h"

namespace verbena::rpc {
namespace {

constexpr size_t kFileBytesMax = 4 << 20;
constexpr absl::Duration kUnwatchedInterval = absl::Seconds(1);
// From one look at the file to the next: its folder may be a busy one, of logs for instance.
constexpr absl::Duration kIntervalMin = absl::Milliseconds(50);

std::string DirectoryOf(const std::string& path) { return path.substr(0, path.rfind('/') + 1); }

}  // namespace

absl::StatusOr<std::shared_ptr<NameLookup>> FileLookup::Create(absl::string_view path, Watcher watcher,
                                                               const NameSourceOptions& options) {
  if (!absl::StartsWith(path, "/") || absl::EndsWith(path, "/")) {
    return absl::InvalidArgumentError("the path of a file is missing; write file:///path");
  }
  return std::make_shared<FileLookup>(std::string(path), std::move(watcher), options);
}

FileLookup::FileLookup(std::string path, Watcher watcher, const NameSourceOptions& options)
    : NameLookup(std::move(watcher)),
      path_(std::move(path)),
      interval_(options.file_interval),
      watch_(DirectoryOf(path_)) {}

void FileLookup::Run() {
  while (!stopping()) {
    const bool watched = watch_.Open();  // Before the file is read: what changes from here on is seen.
    TakeRefresh();
    const absl::Time read_at = MonotonicNow();
    Report(Read());
    pollfd changed = {watch_.fd(), POLLIN, 0};  // poll ignores -1.
    Await(MonotonicNow() + (watched ? interval_ : std::min(interval_, kUnwatchedInterval)), {&changed, 1});
    SleepUntil(read_at + kIntervalMin);
    watch_.Drain();
  }
}

NameLookup::List FileLookup::Read() const {
  const int descriptor = open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // A pipe would wait for a writer.
  if (descriptor < 0) return absl::ErrnoToStatus(errno, path_);
  const std::unique_ptr<FILE, int (*)(FILE*)> file(fdopen(descriptor, "r"), &std::fclose);
  if (file == nullptr) {
    const absl::Status status = absl::ErrnoToStatus(errno, path_);
    close(descriptor);
    return status;
  }
  struct stat status;
  if (fstat(descriptor, &status) == 0 && !S_ISREG(status.st_mode)) {
    return absl::InvalidArgumentError(absl::StrCat(path_, ": not a regular file"));
  }
  std::string text(kFileBytesMax + 1, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file.get()));
  if (std::ferror(file.get()) != 0) return absl::ErrnoToStatus(errno, path_);
  if (text.size() > kFileBytesMax) {
    return absl::ResourceExhaustedError(absl::StrCat(path_, ": more than ", kFileBytesMax, " bytes"));
  }
  List list = ParseAddressFile(text);
  if (!list.ok()) return absl::Status(list.status().code(), absl::StrCat(path_, ": ", list.status().message()));
  return list;
}

}  // namespace verbena::rpc
