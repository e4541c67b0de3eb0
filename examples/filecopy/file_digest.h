// The SHA-256 of a file's beginning: by which both sides find out whether what one has is what the other means.

#ifndef VERBENA_EXAMPLES_FILECOPY_FILE_DIGEST_H_
#define VERBENA_EXAMPLES_FILECOPY_FILE_DIGEST_H_

#include <cstdint>
#include <functional>

#include "absl/status/statusor.h"
#include "examples/filecopy/sha256.h"
#include "examples/filecopy/source_file.h"

namespace verbena::examples {

// Reads the next `bytes` bytes of `file`; Update may go on with what follows them. Asks `is_cancelled` now and then:
// Cancelled, if it says so. Else SourceFile::Read's errors.
absl::StatusOr<Sha256> HashNext(SourceFile& file, uint64_t bytes, const std::function<bool()>& is_cancelled);

}  // namespace verbena::examples

#endif  // VERBENA_EXAMPLES_FILECOPY_FILE_DIGEST_H_
