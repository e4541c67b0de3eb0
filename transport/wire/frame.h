// The frame: what a SEND carries. Specification: docs/wire.md. Pure; nothing here touches a device.
//
//   | header, 32 bytes | extensions | call header | body |
//
// One SEND carries one frame; or, on a connection that chose kFeaturePacking, up to kFramesPerSendMax, one behind the
// other (FrameReader): of eager ones, and of announcements and finishes too with kFeatureRendezvousPacking.
//
// Extensions (extension.h) are how the format grows. The call header belongs to the layer above and is opaque here. The
// body of an eager frame is the payload; the body of an announcement is a list of Segments; other frames have none. All
// integers are little-endian.
//
// What a peer sends is validated once, whole, by DecodeFrame; whoever holds a FrameView may rely on every rule of the
// format. What decodes, encodes to the same bytes. Thread: any; spans point into the caller's bytes and live as long.

#ifndef VERBENA_TRANSPORT_WIRE_FRAME_H_
#define VERBENA_TRANSPORT_WIRE_FRAME_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/little_endian.h"
#include "transport/wire/frame_header.h"
#include "transport/wire/hello.h"

namespace verbena::wire {

// A piece of the announcer's memory that the fetcher may READ.
struct Segment {
  uint64_t address = 0;
  uint64_t length = 0;
  uint32_t key = 0;  // rkey

  bool operator==(const Segment&) const = default;
};

// The first kIdentityBytes of what is fetched: compared with the announcement before a byte of it is parsed.
struct Identity {
  uint64_t epoch = 0;
  uint64_t call_id = 0;
  uint64_t payload_bytes = 0;
  uint32_t checksum = 0;  // CRC32C of the payload (checksum.h) when kFlagChecksum is set, else 0.

  bool operator==(const Identity&) const = default;
};

// A decoded frame. The spans point into the bytes it was decoded from.
struct FrameView {
  FrameHeader header;
  absl::Span<const std::byte> extensions;
  absl::Span<const std::byte> call_header;
  absl::Span<const std::byte> body;
};

// Decodes and validates one received frame of exactly `bytes`: version, type, every length, the extensions' form, the
// body against the type (an announcement's segments included), and that whatever its type does not use is zero. The
// error (InvalidArgument) says in words what is wrong; the connection that received it is then closed with a protocol
// error. Allocates only for an error.
absl::StatusOr<FrameView> DecodeFrame(absl::Span<const std::byte> bytes);

// A field of 16 bits within the word of eight bytes that it stands in.
inline constexpr uint64_t FieldMask(size_t at, uint64_t mask) { return mask << (8 * (at % sizeof(uint64_t))); }

// Decodes an eager frame without flags and extensions, as most are, which it knows by two comparisons. `alone`: all of
// `bytes` are its own; else others may follow. False: it is another, or is malformed.
inline bool DecodePlainEager(absl::Span<const std::byte> bytes, bool alone, FrameView& frame) {
  constexpr uint64_t kFirst =
      FieldMask(header_at::kVersion, kVersion) | FieldMask(header_at::kType, static_cast<uint64_t>(FrameType::kEager));
  constexpr uint64_t kFirstFree = FieldMask(header_at::kCreditGrant, 0xffff);
  constexpr uint64_t kSecondFree =
      FieldMask(header_at::kCallHeaderBytes, 0xffff) | FieldMask(header_at::kMessageKind, 0xff);
  if (bytes.size() < kFrameHeaderBytes) return false;
  const uint64_t first = LoadLittleEndian<uint64_t>(bytes.data() + header_at::kVersion);
  const uint64_t second = LoadLittleEndian<uint64_t>(bytes.data() + header_at::kCallHeaderBytes);
  if ((first & ~kFirstFree) != kFirst || (second & ~kSecondFree) != 0) return false;

  frame.header = ReadFrameHeader(bytes.data());
  const size_t head_bytes = kFrameHeaderBytes + frame.header.call_header_bytes;
  const uint64_t body_bytes = frame.header.payload_bytes;
  if (head_bytes > bytes.size()) return false;
  const size_t left = bytes.size() - head_bytes;
  if (alone ? body_bytes != left : body_bytes > left) return false;
  frame.extensions = {};
  frame.call_header = {bytes.data() + kFrameHeaderBytes, frame.header.call_header_bytes};
  frame.body = {bytes.data() + head_bytes, body_bytes};
  return true;
}

// The frames of one SEND, in order: `while (!reader.done())`, take the next. There is at least one: what carries none
// is malformed.
class FrameReader {
 public:
  FrameReader(absl::Span<const std::byte> bytes, Packing packing) : rest_(bytes), packing_(packing) {}

  // As DecodeFrame, into `frame`. After an error there is no next.
  absl::Status Next(FrameView* frame) {
    const bool alone = packing_ == Packing::kNone;
    if (read_ >= kFramesPerSendMax || !DecodePlainEager(rest_, alone, *frame)) return NextOther(frame);
    Pass(*frame);
    return absl::OkStatus();
  }
  bool done() const { return read_ > 0 && rest_.empty(); }

 private:
  absl::Status NextOther(FrameView* frame);
  void Pass(const FrameView& frame) {
    ++read_;
    rest_.remove_prefix(static_cast<size_t>(frame.body.end() - rest_.begin()));
  }

  absl::Span<const std::byte> rest_;
  const Packing packing_;
  size_t read_ = 0;  // Frames.
};

void EncodeSegment(const Segment& segment, std::byte* to);  // kSegmentBytes at `to`.
// The segments of a decoded announcement: 1 to kSegmentsMax, none empty, none past the end of the address space, their
// lengths adding up to payload_bytes + kIdentityBytes. `index` < SegmentCount(announce).
size_t SegmentCount(const FrameView& announce);
Segment DecodeSegment(const FrameView& announce, size_t index);

void EncodeIdentity(const Identity& identity, std::byte* to);  // kIdentityBytes at `to`.
// Decodes the first kIdentityBytes of `bytes`. Error (DataLoss): too short, or it is no identity block at all. Whether
// it is the expected one is the caller's to compare.
absl::StatusOr<Identity> DecodeIdentity(absl::Span<const std::byte> bytes);

}  // namespace verbena::wire

#endif  // VERBENA_TRANSPORT_WIRE_FRAME_H_
