#include "transport/outbound.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/clear_cord.h"

namespace verbena::transport {
void Outbound::Assign(OutboundMessage&& message, uint64_t payload_source_bytes) {
  kind = message.kind;
  call_id = message.call_id;
  tag = message.tag;
  awaited = message.awaited;
  header.assign(message.header.begin(), message.header.end());
  payload = message.payload;
  source_bytes = payload_source_bytes;
  if (!message.attachment.empty()) attachment = std::move(message.attachment);
}

void Outbound::Clear() {
  DropSource();
  ClearCord(attachment);
  reported = false;
  state = Export::kNone;
  exported.reset();
}

std::byte* WriteAttachment(const absl::Cord& attachment, std::byte* to) {
  for (const absl::string_view chunk : attachment.Chunks()) {
    std::memcpy(to, chunk.data(), chunk.size());
    to += chunk.size();
  }
  return to;
}

uint32_t WriteControlFrame(wire::FrameHeader header, absl::string_view words, std::byte* to) {
  header.call_header_bytes = static_cast<uint16_t>(words.size());
  wire::EncodeFrameHeader(header, to);
  if (!words.empty()) std::memcpy(to + wire::kFrameHeaderBytes, words.data(), words.size());
  return static_cast<uint32_t>(wire::kFrameHeaderBytes + words.size());
}

uint32_t WriteAnnounceFrame(const wire::FrameHeader& header, const Outbound& outbound,
                            absl::Span<const wire::Segment> segments, std::byte* to) {
  std::byte* next = WriteHeaders(header, outbound.header, to);
  for (const wire::Segment& segment : segments) {
    wire::EncodeSegment(segment, next);
    next += wire::kSegmentBytes;
  }
  return static_cast<uint32_t>(next - to);
}

}  // namespace verbena::transport
