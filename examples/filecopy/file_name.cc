#include "examples/filecopy/file_name.h"

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace verbena::examples {
namespace {

absl::Status Refuse(absl::string_view name, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat("file name \"", absl::CEscape(name), "\" is refused: ", why));
}

}  // namespace

absl::Status CheckFileName(absl::string_view name) {
  if (name.empty()) return Refuse(name, "it is empty");
  if (name.size() > kFileNameBytesMax) {
    return Refuse(name.substr(0, 32), absl::StrCat("it is longer than ", kFileNameBytesMax, " bytes"));
  }
  if (name.find('/') != absl::string_view::npos) return Refuse(name, "it names a directory");
  if (name.front() == '.') return Refuse(name, "it begins with a dot");
  for (const char c : name) {
    if (absl::ascii_iscntrl(static_cast<unsigned char>(c))) return Refuse(name, "it has control characters");
  }
  return absl::OkStatus();
}

}  // namespace verbena::examples
