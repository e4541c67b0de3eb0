// The header that every frame begins with (frame.h), and where its fields stand. Pure; thread: any.

#ifndef VERBENA_TRANSPORT_WIRE_FRAME_HEADER_H_
#define VERBENA_TRANSPORT_WIRE_FRAME_HEADER_H_

#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "base/little_endian.h"

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

// Where the fields of a frame's header stand.
namespace header_at {
constexpr size_t kVersion = 0;
constexpr size_t kType = 1;
constexpr size_t kFlags = 2;
constexpr size_t kCreditGrant = 4;
constexpr size_t kExtensionBytes = 6;
constexpr size_t kCallHeaderBytes = 8;
constexpr size_t kMessageKind = 10;
constexpr size_t kReserved = 11;
constexpr size_t kAux = 12;
constexpr size_t kCallId = 16;
constexpr size_t kPayloadBytes = 24;
}  // namespace header_at
static_assert(header_at::kPayloadBytes + sizeof(uint64_t) == kFrameHeaderBytes);

// Writes the header's 32 bytes at `to`.
inline void EncodeFrameHeader(const FrameHeader& header, std::byte* to) {
  StoreLittleEndian<uint8_t>(kVersion, to + header_at::kVersion);
  StoreLittleEndian<uint8_t>(static_cast<uint8_t>(header.type), to + header_at::kType);
  StoreLittleEndian<uint16_t>(header.flags, to + header_at::kFlags);
  StoreLittleEndian<uint16_t>(header.credit_grant, to + header_at::kCreditGrant);
  StoreLittleEndian<uint16_t>(header.extension_bytes, to + header_at::kExtensionBytes);
  StoreLittleEndian<uint16_t>(header.call_header_bytes, to + header_at::kCallHeaderBytes);
  StoreLittleEndian<uint8_t>(header.message_kind, to + header_at::kMessageKind);
  StoreLittleEndian<uint8_t>(0, to + header_at::kReserved);
  StoreLittleEndian<uint32_t>(header.aux, to + header_at::kAux);
  StoreLittleEndian<uint64_t>(header.call_id, to + header_at::kCallId);
  StoreLittleEndian<uint64_t>(header.payload_bytes, to + header_at::kPayloadBytes);
}

// Reads them. Nothing is checked: a frame's reader (frame.h) does.
inline FrameHeader ReadFrameHeader(const std::byte* from) {
  FrameHeader header;
  header.type = static_cast<FrameType>(LoadLittleEndian<uint8_t>(from + header_at::kType));
  header.flags = LoadLittleEndian<uint16_t>(from + header_at::kFlags);
  header.credit_grant = LoadLittleEndian<uint16_t>(from + header_at::kCreditGrant);
  header.extension_bytes = LoadLittleEndian<uint16_t>(from + header_at::kExtensionBytes);
  header.call_header_bytes = LoadLittleEndian<uint16_t>(from + header_at::kCallHeaderBytes);
  header.message_kind = LoadLittleEndian<uint8_t>(from + header_at::kMessageKind);
  header.aux = LoadLittleEndian<uint32_t>(from + header_at::kAux);
  header.call_id = LoadLittleEndian<uint64_t>(from + header_at::kCallId);
  header.payload_bytes = LoadLittleEndian<uint64_t>(from + header_at::kPayloadBytes);
  return header;
}

absl::string_view ToString(FrameType type);
absl::string_view ToString(FinishReason reason);
absl::string_view ToString(GoodbyeReason reason);
absl::string_view ToString(AuthenticationStep step);

}  // namespace verbena::wire

#endif  // VERBENA_TRANSPORT_WIRE_FRAME_HEADER_H_
