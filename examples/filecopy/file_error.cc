#include "examples/filecopy/file_error.h"

#include <cerrno>

#include "absl/strings/str_cat.h"

namespace verbena::examples {

absl::Status FileError(absl::string_view action, absl::string_view path, int error_number) {
  const absl::Status status = absl::ErrnoToStatus(error_number, absl::StrCat("cannot ", action, " ", path));
  // Abseil takes a file past its size limit for an argument out of range.
  if (error_number == EFBIG) return absl::ResourceExhaustedError(status.message());
  return status;
}

}  // namespace verbena::examples
