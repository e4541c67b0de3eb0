// The frame: what a SEND carries. Specification: docs/wire.md. Pure; nothing here touches a device.
//
//   | header, 32 bytes | extensions | call header | body |
//
// One SEND carries one frame; or, on a connection that chose kFeaturePacking, up to kFramesPerSendMax eager frames, one
// behind the other (FrameReader).
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

namespace verbena::wire {

// The version of the protocol that this code speaks: in every frame, and the only one offered in a Hello.
inline constexpr uint8_t kVersion = 1;

// Sizes, in bytes and pieces.
inline constexpr size_t kFrameHeaderBytes = 32;
inline constexpr size_t kSegmentBytes = 24;
inline constexpr size_t kIdentityBytes = 32;
inline constexpr size_t kSegmentsMax = 64;       // In one announcement.
inline constexpr size_t kFramesPerSendMax = 16;  // So that a receive stands for so many messages at most.
// The field's width; a connection's real limit is what its peer's receive buffer leaves.
inline constexpr size_t kCallHeaderBytesMax = 0xffff;

enum class FrameType : uint8_t {
  kEager = 1,     // A message with its payload.
  kAnnounce = 2,  // A message whose payload is to be fetched by RDMA READ.
  kFinish = 3,    // The one answer to each kAnnounce, with a FinishReason. The announcer may free the exported memory.
  kWithdraw = 4,  // The announcer asks the fetcher to stop. The announcement's kFinish may have crossed it.
  kGrant = 5,     // Carries a credit grant and nothing else.
  kReclaim = 6,   // Asks the peer to give back credits that it holds unused; answered by kReturn, or not at all.
  kReturn = 7,    // Gives credits back: as many as the header's `aux` says.
  kPing = 8,      // Keepalive probe.
  kPong = 9,      // Answer to kPing.
  kDrain = 10,    // The sender will send no new message on this connection; what is in flight is finished.
  kGoodbye = 11,  // The last frame: why the connection ends (`aux` = GoodbyeReason; call header = reason in words).
  kAuthenticate = 12,  // A message of the authentication exchange (`aux` = AuthenticationStep; call header = message).
};

// Why a fetch ended; `message_kind` of a kFinish.
enum class FinishReason : uint8_t { kFetched = 0, kRefused = 1, kWithdrawn = 2, kFailed = 3, kNoMemory = 4 };

// Why a connection ends; `aux` of a kGoodbye.
enum class GoodbyeReason : uint32_t {
  kClosed = 0,
  kProtocolError = 1,
  kQuarantineFull = 2,
  kShutdown = 3,
  kAuthenticationFailed = 4,
};

// What a kAuthenticate says beside its message; its `aux`.
enum class AuthenticationStep : uint32_t {
  kContinue = 0,  // The exchange goes on.
  kAccept = 1,    // The sender knows who its peer is, and is content.
};

// Frame header flags.
inline constexpr uint16_t kFlagChecksum = 1u << 0;  // The identity block's CRC32C is present and must match.

// The header of every frame, decoded. `message_kind` and the call header belong to the layer above and are opaque here.
struct FrameHeader {
  FrameType type = FrameType::kEager;
  uint16_t flags = 0;
  uint16_t credit_grant = 0;       // Credits given to the receiver of this frame, in SENDs.
  uint16_t extension_bytes = 0;    // Length of the TLVs that follow the header.
  uint16_t call_header_bytes = 0;  // Length of the call header that follows the TLVs.
  uint8_t message_kind = 0;        // kFinish: FinishReason.
  // kAnnounce, kFinish, kWithdraw: the transfer id, chosen by the announcer: a slot below 32 in the low 16 bits, a
  // count of its uses in the high 16; the slot is taken from the announcement to its kFinish. kReturn: credits given
  // back. kGoodbye: GoodbyeReason. kAuthenticate: AuthenticationStep. Else 0.
  uint32_t aux = 0;
  // Index (low 32 bits) and generation (high 32 bits); never a pointer. kFinish, kWithdraw: the announcement's.
  uint64_t call_id = 0;
  uint64_t payload_bytes = 0;  // Eager: bytes of body. Announce: bytes of payload to fetch, without the identity block.
};

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

// Writes the header's 32 bytes at `to`.
void EncodeFrameHeader(const FrameHeader& header, std::byte* to);

// Decodes and validates one received frame of exactly `bytes`: version, type, every length, the extensions' form, the
// body against the type (an announcement's segments included), and that whatever its type does not use is zero. The
// error (InvalidArgument) says in words what is wrong; the connection that received it is then closed with a protocol
// error. Allocates only for an error.
absl::StatusOr<FrameView> DecodeFrame(absl::Span<const std::byte> bytes);

// The frames of one SEND, in order: `while (!reader.done())`, take the next. There is at least one: what carries none
// is malformed.
class FrameReader {
 public:
  // `packed`: the connection chose kFeaturePacking.
  FrameReader(absl::Span<const std::byte> bytes, bool packed) : rest_(bytes), packed_(packed) {}

  // As DecodeFrame, into `frame`. After an error there is no next.
  absl::Status Next(FrameView* frame);
  bool done() const { return read_ > 0 && rest_.empty(); }

 private:
  absl::Span<const std::byte> rest_;
  const bool packed_;
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

absl::string_view ToString(FrameType type);
absl::string_view ToString(FinishReason reason);
absl::string_view ToString(GoodbyeReason reason);
absl::string_view ToString(AuthenticationStep step);

}  // namespace verbena::wire

#endif  // VERBENA_TRANSPORT_WIRE_FRAME_H_
