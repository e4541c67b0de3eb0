// Extensions: a list of {type u16, length u16, value} behind a frame's header, in which later versions say more.
//
// A reader skips types that it does not know; version 1 defines none and so skips all. What a peer must not skip needs
// a feature bit in the Hello, or a new version. Pure; values point into the caller's bytes.

#ifndef VERBENA_TRANSPORT_WIRE_EXTENSION_H_
#define VERBENA_TRANSPORT_WIRE_EXTENSION_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/types/span.h"

namespace verbena::wire {

// Type and length; the length is the value's alone. Nothing is padded or aligned.
inline constexpr size_t kExtensionOverheadBytes = 4;

struct Extension {
  uint16_t type = 0;
  absl::Span<const std::byte> value;
};

// Whether the list is whole, its last value ending where it ends. InvalidArgument says in words what is not.
absl::Status CheckExtensions(absl::Span<const std::byte> extensions);

// Reads a list that CheckExtensions found whole, such as FrameView::extensions: Next until nullopt.
class ExtensionReader {
 public:
  explicit ExtensionReader(absl::Span<const std::byte> extensions) : rest_(extensions) {}
  std::optional<Extension> Next();

 private:
  absl::Span<const std::byte> rest_;
};

// Writes the extension at the start of `to` and returns its length; 0 and nothing written if it does not fit, or its
// value is longer than 65,535 bytes.
size_t EncodeExtension(const Extension& extension, absl::Span<std::byte> to);

}  // namespace verbena::wire

#endif  // VERBENA_TRANSPORT_WIRE_EXTENSION_H_
