// Errors of file operations as absl::Status, in words.

#ifndef VERBENA_EXAMPLES_FILECOPY_FILE_ERROR_H_
#define VERBENA_EXAMPLES_FILECOPY_FILE_ERROR_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace verbena::examples {

// "cannot write /srv/a: No space left on device", with the code that fits `error_number`: ResourceExhausted for a full
// disk, quota or file-size limit, NotFound, PermissionDenied, … Call it with errno saved at once.
absl::Status FileError(absl::string_view action, absl::string_view path, int error_number);

}  // namespace verbena::examples

#endif  // VERBENA_EXAMPLES_FILECOPY_FILE_ERROR_H_
