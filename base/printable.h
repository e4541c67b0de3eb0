// What others have written, for a line of the log or a status: escaped, so that nothing in it ends the line, and cut.
// Pure.

#ifndef VERBENA_BASE_PRINTABLE_H_
#define VERBENA_BASE_PRINTABLE_H_

#include <cstddef>
#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/string_view.h"

namespace verbena {

// Of the first `bytes_max` bytes of `text`.
inline std::string Printable(absl::string_view text, size_t bytes_max = 200) {
  return absl::CHexEscape(text.substr(0, bytes_max));
}

}  // namespace verbena

#endif  // VERBENA_BASE_PRINTABLE_H_
