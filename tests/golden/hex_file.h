// Golden bytes as text: hexadecimal bytes between white space, and comments from '#' to the end of the line.

#ifndef VERBENA_TESTS_GOLDEN_HEX_FILE_H_
#define VERBENA_TESTS_GOLDEN_HEX_FILE_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace verbena::testing {

// The bytes that `text` says. InvalidArgument: something in it is no byte.
absl::StatusOr<std::vector<std::byte>> ParseHex(absl::string_view text);

// The bytes of the file at `path`, relative to the workspace when run by Bazel. NotFound, or as ParseHex.
absl::StatusOr<std::vector<std::byte>> ReadHexFile(const std::string& path);

}  // namespace verbena::testing

#endif  // VERBENA_TESTS_GOLDEN_HEX_FILE_H_
