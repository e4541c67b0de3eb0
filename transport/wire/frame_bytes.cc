#include "transport/wire/frame_bytes.h"

namespace verbena::wire {

Bytes BytesOf(absl::string_view text) {
  const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
  return Bytes(bytes, bytes + text.size());
}

std::string TextOf(absl::Span<const std::byte> bytes) {
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

Bytes FrameBytes(const FrameHeader& header, std::initializer_list<Bytes> pieces) {
  Bytes frame(kFrameHeaderBytes);
  EncodeFrameHeader(header, frame.data());
  return Together({frame, Together(pieces)});
}

Bytes Together(std::initializer_list<Bytes> frames) {
  Bytes all;
  for (const Bytes& frame : frames) all.insert(all.end(), frame.begin(), frame.end());
  return all;
}

Bytes SegmentBytes(std::initializer_list<Segment> segments) {
  Bytes body(segments.size() * kSegmentBytes);
  std::byte* to = body.data();
  for (const Segment& segment : segments) {
    EncodeSegment(segment, to);
    to += kSegmentBytes;
  }
  return body;
}

Bytes EncodeAgain(const FrameView& view) {
  Bytes body(view.body.begin(), view.body.end());
  if (view.header.type == FrameType::kAnnounce) {
    for (size_t i = 0; i < SegmentCount(view); ++i) {
      EncodeSegment(DecodeSegment(view, i), body.data() + i * kSegmentBytes);
    }
  }
  return FrameBytes(view.header, {Bytes(view.extensions.begin(), view.extensions.end()),
                                  Bytes(view.call_header.begin(), view.call_header.end()), body});
}

}  // namespace verbena::wire
