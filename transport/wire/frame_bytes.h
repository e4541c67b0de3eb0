// For tests: whole frames as bytes, well-formed or not.

#ifndef VERBENA_TRANSPORT_WIRE_FRAME_BYTES_H_
#define VERBENA_TRANSPORT_WIRE_FRAME_BYTES_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "transport/wire/frame.h"

namespace verbena::wire {

using Bytes = std::vector<std::byte>;

// The text's characters.
Bytes BytesOf(absl::string_view text);
// The bytes as text, to be compared in expectations.
std::string TextOf(absl::Span<const std::byte> bytes);

// `header` exactly as given, its lengths included, then the pieces, whether they fit it or not.
Bytes FrameBytes(const FrameHeader& header, std::initializer_list<Bytes> pieces = {});

// One behind the other, as in one SEND.
Bytes Together(std::initializer_list<Bytes> frames);

// An announcement's body.
Bytes SegmentBytes(std::initializer_list<Segment> segments);

// The frame that `view` is of, put together from its decoded parts.
Bytes EncodeAgain(const FrameView& view);

}  // namespace verbena::wire

#endif  // VERBENA_TRANSPORT_WIRE_FRAME_BYTES_H_
