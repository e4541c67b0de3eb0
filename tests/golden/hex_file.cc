#include "tests/golden/hex_file.h"

#include <fstream>
#include <iterator>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace verbena::testing {

absl::StatusOr<std::vector<std::byte>> ParseHex(absl::string_view text) {
  std::vector<std::byte> bytes;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    const absl::string_view code = line.substr(0, line.find('#'));
    for (absl::string_view word : absl::StrSplit(code, absl::ByAnyChar(" \t\r"), absl::SkipEmpty())) {
      if (word.size() != 2 || !absl::ascii_isxdigit(word[0]) || !absl::ascii_isxdigit(word[1])) {
        return absl::InvalidArgumentError(absl::StrCat("not a byte in hexadecimal: ", word));
      }
      bytes.push_back(static_cast<std::byte>(absl::HexStringToBytes(word)[0]));
    }
  }
  return bytes;
}

absl::StatusOr<std::vector<std::byte>> ReadHexFile(const std::string& path) {
  std::ifstream file(path);
  if (!file) return absl::NotFoundError(absl::StrCat("cannot read ", path));
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  return ParseHex(text);
}

}  // namespace verbena::testing
