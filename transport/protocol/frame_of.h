// Decoded frames for tests, made through the real codec.

#ifndef VERBENA_TRANSPORT_PROTOCOL_FRAME_OF_H_
#define VERBENA_TRANSPORT_PROTOCOL_FRAME_OF_H_

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "transport/wire/frame.h"

namespace verbena::protocol {

// A frame's bytes and what they decode to.
class FrameOf {
 public:
  // A call header is of zeros, if none is given.
  explicit FrameOf(const wire::FrameHeader& header, const std::vector<wire::Segment>& segments = {},
                   absl::string_view call_header = "") {
    const size_t body =
        header.type == wire::FrameType::kEager ? header.payload_bytes : segments.size() * wire::kSegmentBytes;
    bytes_.resize(wire::kFrameHeaderBytes + header.call_header_bytes + body);
    wire::EncodeFrameHeader(header, bytes_.data());
    std::memcpy(bytes_.data() + wire::kFrameHeaderBytes, call_header.data(), call_header.size());
    std::byte* to = bytes_.data() + wire::kFrameHeaderBytes + header.call_header_bytes;
    for (const wire::Segment& segment : segments) {
      wire::EncodeSegment(segment, to);
      to += wire::kSegmentBytes;
    }
  }

  wire::FrameView view() const {
    absl::StatusOr<wire::FrameView> view = wire::DecodeFrame(bytes_);
    assert(view.ok());
    return *view;
  }

 private:
  std::vector<std::byte> bytes_;
};

inline wire::FrameHeader HeaderOf(wire::FrameType type, uint16_t grant = 0) {
  wire::FrameHeader header;
  header.type = type;
  header.credit_grant = grant;
  return header;
}

// An announcement in one segment.
inline FrameOf AnnouncementOf(uint32_t transfer, uint64_t call_id, uint64_t payload_bytes) {
  wire::FrameHeader header = HeaderOf(wire::FrameType::kAnnounce);
  header.aux = transfer;
  header.call_id = call_id;
  header.payload_bytes = payload_bytes;
  return FrameOf(header, {{0x10000, payload_bytes + wire::kIdentityBytes, 9}});
}

}  // namespace verbena::protocol

#endif  // VERBENA_TRANSPORT_PROTOCOL_FRAME_OF_H_
