#include "examples/filecopy/stale_partials.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "absl/strings/match.h"
#include "examples/filecopy/partial_file.h"

namespace verbena::examples {
namespace {

bool IsPartialName(absl::string_view name) {
  return absl::StartsWith(name, kPartialPrefix) && absl::EndsWith(name, kPartialSuffix);
}

void RemoveIfOlder(const std::string& path, absl::Time oldest) {
  const int fd = open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return;
  struct stat attributes;
  // Locked: a transfer has it. Removed under the lock, so that none begins with it meanwhile.
  if (flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &attributes) == 0 && S_ISREG(attributes.st_mode) &&
      absl::TimeFromTimespec(attributes.st_mtim) < oldest) {
    unlink(path.c_str());
  }
  close(fd);
}

}  // namespace

void StalePartials::RemoveIfDue(absl::Time now) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (now < due_) return;
  due_ = now + keep_ / 10;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(directory_, error), end; !error && entry != end;
       entry.increment(error)) {
    if (IsPartialName(entry->path().filename().native())) RemoveIfOlder(entry->path().native(), now - keep_);
  }
}

}  // namespace verbena::examples
