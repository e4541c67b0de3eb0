// Which names a client may give to a file in the server's directory.

#ifndef VERBENA_EXAMPLES_FILECOPY_FILE_NAME_H_
#define VERBENA_EXAMPLES_FILECOPY_FILE_NAME_H_

#include <cstddef>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace verbena::examples {

inline constexpr size_t kFileNameBytesMax = 200;  // Leaves room, within NAME_MAX of 255, for what a partial file adds.

// OK for a plain name. InvalidArgument, in words, for one that is empty, too long, leads out of the directory or into
// another ("..", anything with a slash), is hidden (begins with a dot: those are the server's own), or has control
// characters.
absl::Status CheckFileName(absl::string_view name);

}  // namespace verbena::examples

#endif  // VERBENA_EXAMPLES_FILECOPY_FILE_NAME_H_
