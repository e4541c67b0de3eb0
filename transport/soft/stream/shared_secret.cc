#include "transport/soft/stream/shared_secret.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cassert>
#include <cerrno>
#include <cstdlib>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "transport/soft/unique_fd.h"

namespace verbena::soft {
namespace {

absl::Status CheckPermissions(const struct stat& status, const std::string& path) {
  if (!S_ISREG(status.st_mode)) {
    return absl::FailedPreconditionError(absl::StrCat("secret file ", path, " is not a regular file"));
  }
  if (status.st_uid != geteuid() && status.st_uid != 0) {
    return absl::PermissionDeniedError(absl::StrCat("secret file ", path, " belongs to another user"));
  }
  if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    return absl::PermissionDeniedError(
        absl::StrCat("secret file ", path, " is open to its group or to others: chmod 600"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<SharedSecret> SharedSecret::ReadFrom(const std::string& path) {
  UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status = {};
  if (!fd.valid() || fstat(fd.get(), &status) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("secret file ", path));
  }
  if (absl::Status permitted = CheckPermissions(status, path); !permitted.ok()) return permitted;
  std::string bytes(kSecretBytesMax + 2, '\0');
  ssize_t count = read(fd.get(), bytes.data(), bytes.size());
  if (count < 0) return absl::ErrnoToStatus(errno, absl::StrCat("secret file ", path));
  bytes.resize(static_cast<size_t>(count));
  if (!bytes.empty() && bytes.back() == '\n') bytes.pop_back();
  if (bytes.size() < kSecretBytesMin || bytes.size() > kSecretBytesMax) {
    return absl::FailedPreconditionError(absl::StrCat("secret file ", path, " must have ", kSecretBytesMin, " to ",
                                                      kSecretBytesMax, " bytes; head -c 32 /dev/urandom makes one"));
  }
  return SharedSecret(std::move(bytes));
}

absl::StatusOr<std::optional<SharedSecret>> SharedSecret::OfEnvironment() {
  const char* path = std::getenv("VERBENA_SOFT_SECRET_FILE");
  if (path == nullptr || *path == '\0') return std::optional<SharedSecret>();
  absl::StatusOr<SharedSecret> secret = ReadFrom(path);
  if (!secret.ok()) return secret.status();
  return std::optional<SharedSecret>(*std::move(secret));
}

}  // namespace verbena::soft
