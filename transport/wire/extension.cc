#include "transport/wire/extension.h"

#include <cassert>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/little_endian.h"

namespace verbena::wire {

absl::Status CheckExtensions(absl::Span<const std::byte> extensions) {
  while (!extensions.empty()) {
    if (extensions.size() < kExtensionOverheadBytes) {
      return absl::InvalidArgumentError(
          absl::StrCat("the extensions end with ", extensions.size(), " bytes of an extension"));
    }
    const uint16_t length = LoadLittleEndian<uint16_t>(&extensions[2]);
    if (length > extensions.size() - kExtensionOverheadBytes) {
      return absl::InvalidArgumentError(
          absl::StrCat("an extension of type ", LoadLittleEndian<uint16_t>(&extensions[0]), " is ", length,
                       " bytes long where ", extensions.size() - kExtensionOverheadBytes, " are left"));
    }
    extensions.remove_prefix(kExtensionOverheadBytes + length);
  }
  return absl::OkStatus();
}

std::optional<Extension> ExtensionReader::Next() {
  if (rest_.empty()) return std::nullopt;
  assert(rest_.size() >= kExtensionOverheadBytes);
  const uint16_t length = LoadLittleEndian<uint16_t>(&rest_[2]);
  assert(length <= rest_.size() - kExtensionOverheadBytes);
  const Extension extension{LoadLittleEndian<uint16_t>(&rest_[0]), rest_.subspan(kExtensionOverheadBytes, length)};
  rest_.remove_prefix(kExtensionOverheadBytes + length);
  return extension;
}

size_t EncodeExtension(const Extension& extension, absl::Span<std::byte> to) {
  const size_t bytes = kExtensionOverheadBytes + extension.value.size();
  if (extension.value.size() > 0xffff || bytes > to.size()) return 0;
  StoreLittleEndian<uint16_t>(extension.type, &to[0]);
  StoreLittleEndian<uint16_t>(static_cast<uint16_t>(extension.value.size()), &to[2]);
  if (!extension.value.empty()) {
    std::memcpy(&to[kExtensionOverheadBytes], extension.value.data(), extension.value.size());
  }
  return bytes;
}

}  // namespace verbena::wire
