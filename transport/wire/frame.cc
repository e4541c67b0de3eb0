#include "transport/wire/frame.h"

#include <algorithm>
#include <cassert>
#include <limits>

#include "absl/strings/str_cat.h"
#include "base/little_endian.h"
#include "transport/wire/extension.h"

namespace verbena::wire {
namespace {

constexpr uint32_t kIdentityMagic = 0x49425256;  // "VRBI"

namespace segment_at {
constexpr size_t kAddress = 0;
constexpr size_t kLength = 8;
constexpr size_t kKey = 16;
constexpr size_t kReserved = 20;
}  // namespace segment_at
static_assert(segment_at::kReserved + sizeof(uint32_t) == kSegmentBytes);

namespace identity_at {
constexpr size_t kMagic = 0;
constexpr size_t kChecksum = 4;
constexpr size_t kEpoch = 8;
constexpr size_t kCallId = 16;
constexpr size_t kPayloadBytes = 24;
}  // namespace identity_at
static_assert(identity_at::kPayloadBytes + sizeof(uint64_t) == kIdentityBytes);

// What a frame of some type may use beyond type, grant and extensions. What it may not use must be zero.
struct Usage {
  bool message = false;  // Call header with opaque message kind and call id, payload_bytes and body.
  bool call_id = false;  // It is about one call.
  bool aux = false;      // The field aux has a meaning.
  bool reason = false;   // message_kind is a FinishReason.
  bool words = false;    // The call header is text for people, or a message of the authentication.
  uint16_t flags = 0;    // The flags that it may carry.
};

constexpr Usage kEagerUsage{.message = true, .call_id = true};
constexpr Usage kAnnounceUsage{.message = true, .call_id = true, .aux = true, .flags = kFlagChecksum};
constexpr Usage kFinishUsage{.call_id = true, .aux = true, .reason = true};
constexpr Usage kWithdrawUsage{.call_id = true, .aux = true};
constexpr Usage kReturnUsage{.aux = true};
constexpr Usage kWordsUsage{.aux = true, .words = true};
constexpr Usage kBareUsage;

constexpr auto kReasonMax = static_cast<uint8_t>(FinishReason::kNoMemory);
constexpr auto kStepMax = static_cast<uint32_t>(AuthenticationStep::kAccept);

// Cold: what it needs of stack and registers is not taken for a frame that is well.
template <typename... Pieces>
[[gnu::cold, gnu::noinline]] absl::Status Malformed(const Pieces&... pieces) {
  return absl::InvalidArgumentError(absl::StrCat(pieces...));
}

// The fields against the type: unused ones are zero. What is wrong, in words, is looked for when something is.
[[gnu::cold, gnu::noinline]] absl::Status Misused(const FrameHeader& header, const Usage& usage) {
  const auto malformed = [&header](absl::string_view what) {
    return Malformed("a frame of type ", ToString(header.type), " ", what);
  };
  if ((header.flags & ~usage.flags) != 0) return malformed(absl::StrCat("has unknown flags ", header.flags));
  if (usage.reason && header.message_kind > kReasonMax) {
    return Malformed("a finish frame has the unknown reason ", static_cast<int>(header.message_kind));
  }
  if (!usage.reason && !usage.message && header.message_kind != 0) return malformed("has a message kind");
  if (header.type == FrameType::kAuthenticate && header.aux > kStepMax) {
    return Malformed("an authenticate frame has the unknown step ", header.aux);
  }
  if (!usage.aux && header.aux != 0) return malformed("uses the field aux");
  if (!usage.call_id && header.call_id != 0) return malformed("has a call id");
  if (!usage.message && header.payload_bytes != 0) return malformed("has a payload length");
  if (!usage.message && !usage.words && header.call_header_bytes != 0) return malformed("has a call header");
  return malformed("uses a field that it may not");
}

// By type at compile time: a few comparisons for the frames that are many.
template <const Usage& kUsage>
absl::Status CheckFields(const FrameHeader& header) {
  const bool well = (header.flags & ~kUsage.flags) == 0 && (kUsage.aux || header.aux == 0) &&
                    (kUsage.call_id || header.call_id == 0) &&
                    (kUsage.message || kUsage.reason || header.message_kind == 0) &&
                    (kUsage.message || header.payload_bytes == 0) &&
                    (kUsage.message || kUsage.words || header.call_header_bytes == 0) &&
                    (!kUsage.reason || header.message_kind <= kReasonMax) &&
                    (!kUsage.words || header.type != FrameType::kAuthenticate || header.aux <= kStepMax);
  return well ? absl::OkStatus() : Misused(header, kUsage);
}

absl::Status CheckHeader(const FrameHeader& header) {
  switch (header.type) {
    case FrameType::kEager:
      return CheckFields<kEagerUsage>(header);
    case FrameType::kAnnounce:
      return CheckFields<kAnnounceUsage>(header);
    case FrameType::kFinish:
      return CheckFields<kFinishUsage>(header);
    case FrameType::kWithdraw:
      return CheckFields<kWithdrawUsage>(header);
    case FrameType::kReturn:
      return CheckFields<kReturnUsage>(header);
    case FrameType::kGoodbye:
    case FrameType::kAuthenticate:
      return CheckFields<kWordsUsage>(header);
    case FrameType::kGrant:
    case FrameType::kReclaim:
    case FrameType::kPing:
    case FrameType::kPong:
    case FrameType::kDrain:
      return CheckFields<kBareUsage>(header);
  }
  return Malformed("unknown frame type ", static_cast<int>(header.type));
}

absl::Status CheckSegments(const FrameView& announce) {
  const size_t body_bytes = announce.body.size();
  if (body_bytes == 0) return Malformed("an announcement without segments");
  if (body_bytes % kSegmentBytes != 0) {
    return Malformed("an announcement's body of ", body_bytes, " bytes is no whole number of segments");
  }
  const size_t count = body_bytes / kSegmentBytes;
  if (count > kSegmentsMax) return Malformed("an announcement has ", count, " segments; the limit is ", kSegmentsMax);

  constexpr uint64_t kMax = std::numeric_limits<uint64_t>::max();
  const uint64_t payload_bytes = announce.header.payload_bytes;
  if (payload_bytes > kMax - kIdentityBytes) return Malformed("an announcement of ", payload_bytes, " bytes");
  uint64_t left = payload_bytes + kIdentityBytes;
  for (size_t i = 0; i < count; ++i) {
    const Segment segment = DecodeSegment(announce, i);
    if (LoadLittleEndian<uint32_t>(&announce.body[i * kSegmentBytes + segment_at::kReserved]) != 0) {
      return Malformed("segment ", i, " has reserved bits set");
    }
    if (segment.length == 0) return Malformed("segment ", i, " is empty");
    if (segment.address > kMax - segment.length) return Malformed("segment ", i, " runs past the end of memory");
    if (segment.length > left) {
      return Malformed("the segments are longer than the announced payload of ", payload_bytes, " bytes");
    }
    left -= segment.length;
  }
  if (left != 0) return Malformed("the segments are ", left, " bytes shorter than the announced payload");
  return absl::OkStatus();
}

absl::Status CheckBody(const FrameView& frame) {
  switch (frame.header.type) {
    case FrameType::kEager:
      if (frame.body.size() == frame.header.payload_bytes) return absl::OkStatus();
      return Malformed("an eager frame carries ", frame.body.size(), " bytes of payload and says ",
                       frame.header.payload_bytes);
    case FrameType::kAnnounce:
      return CheckSegments(frame);
    case FrameType::kFinish:
    case FrameType::kWithdraw:
    case FrameType::kGrant:
    case FrameType::kReclaim:
    case FrameType::kReturn:
    case FrameType::kPing:
    case FrameType::kPong:
    case FrameType::kDrain:
    case FrameType::kGoodbye:
    case FrameType::kAuthenticate:
      break;
  }
  if (frame.body.empty()) return absl::OkStatus();
  return Malformed("a frame of type ", ToString(frame.header.type), " has ", frame.body.size(),
                   " bytes behind its end");
}

// Whether others may stand in a SEND beside a frame of this type.
bool MayHaveCompany(FrameType type, Packing packing) {
  if (type == FrameType::kEager) return packing != Packing::kNone;
  return packing == Packing::kRendezvous && (type == FrameType::kAnnounce || type == FrameType::kFinish);
}

// How many of `bytes` are the segments that an announced payload fills; all, if it does not fill them.
size_t SegmentBytes(uint64_t payload_bytes, absl::Span<const std::byte> bytes) {
  uint64_t left = payload_bytes + kIdentityBytes;
  for (size_t end = kSegmentBytes; end <= bytes.size(); end += kSegmentBytes) {
    const auto length = LoadLittleEndian<uint64_t>(&bytes[end - kSegmentBytes + segment_at::kLength]);
    if (length > left) break;
    left -= length;
    if (left == 0) return end;
  }
  return bytes.size();
}

// Of `bytes`, which begin with the body of a frame that may have company.
size_t BodyBytes(const FrameHeader& header, absl::Span<const std::byte> bytes) {
  if (header.type == FrameType::kEager) return std::min<uint64_t>(header.payload_bytes, bytes.size());
  return header.type == FrameType::kAnnounce ? SegmentBytes(header.payload_bytes, bytes) : 0;
}

// The frame at the beginning of `bytes`. All of them are its own, if it may have no company.
absl::Status Decode(absl::Span<const std::byte> bytes, Packing packing, FrameView& frame) {
  if (bytes.size() < kFrameHeaderBytes) {
    return Malformed("a frame of ", bytes.size(), " bytes; the header alone has ", kFrameHeaderBytes);
  }
  const int version = static_cast<int>(bytes[header_at::kVersion]);
  if (version != kVersion) {
    return Malformed("a frame of version ", version, "; this connection speaks ", static_cast<int>(kVersion));
  }
  if (bytes[header_at::kReserved] != std::byte{0}) return Malformed("a frame header has reserved bits set");

  frame.header = ReadFrameHeader(bytes.data());
  if (absl::Status status = CheckHeader(frame.header); !status.ok()) return status;

  absl::Span<const std::byte> rest = bytes.subspan(kFrameHeaderBytes);
  const size_t extension_bytes = frame.header.extension_bytes;
  const size_t call_header_bytes = frame.header.call_header_bytes;
  if (extension_bytes + call_header_bytes > rest.size()) {
    return Malformed("extensions of ", extension_bytes, " and a call header of ", call_header_bytes,
                     " bytes do not fit a frame of ", bytes.size());
  }
  frame.extensions = rest.first(extension_bytes);
  frame.call_header = rest.subspan(extension_bytes, call_header_bytes);
  frame.body = rest.subspan(extension_bytes + call_header_bytes);
  if (MayHaveCompany(frame.header.type, packing)) {
    frame.body = frame.body.first(BodyBytes(frame.header, frame.body));
  }
  if (extension_bytes > 0) {
    if (absl::Status status = CheckExtensions(frame.extensions); !status.ok()) return status;
  }
  return CheckBody(frame);
}

}  // namespace

absl::StatusOr<FrameView> DecodeFrame(absl::Span<const std::byte> bytes) {
  FrameView frame;
  if (absl::Status status = Decode(bytes, Packing::kNone, frame); !status.ok()) return status;
  return frame;
}

absl::Status FrameReader::NextOther(FrameView* frame) {
  if (absl::Status status = Decode(rest_, packing_, *frame); !status.ok()) return status;
  if (read_ >= kFramesPerSendMax) return Malformed("more than ", kFramesPerSendMax, " frames in one SEND");
  if (read_ > 0 && !MayHaveCompany(frame->header.type, packing_)) {
    return Malformed("a frame of type ", ToString(frame->header.type), " behind another in one SEND");
  }
  Pass(*frame);
  return absl::OkStatus();
}

void EncodeSegment(const Segment& segment, std::byte* to) {
  StoreLittleEndian<uint64_t>(segment.address, to + segment_at::kAddress);
  StoreLittleEndian<uint64_t>(segment.length, to + segment_at::kLength);
  StoreLittleEndian<uint32_t>(segment.key, to + segment_at::kKey);
  StoreLittleEndian<uint32_t>(0, to + segment_at::kReserved);
}

size_t SegmentCount(const FrameView& announce) {
  assert(announce.header.type == FrameType::kAnnounce);
  return announce.body.size() / kSegmentBytes;
}

Segment DecodeSegment(const FrameView& announce, size_t index) {
  assert(index < SegmentCount(announce));
  const std::byte* from = announce.body.data() + index * kSegmentBytes;
  Segment segment;
  segment.address = LoadLittleEndian<uint64_t>(from + segment_at::kAddress);
  segment.length = LoadLittleEndian<uint64_t>(from + segment_at::kLength);
  segment.key = LoadLittleEndian<uint32_t>(from + segment_at::kKey);
  return segment;
}

void EncodeIdentity(const Identity& identity, std::byte* to) {
  StoreLittleEndian<uint32_t>(kIdentityMagic, to + identity_at::kMagic);
  StoreLittleEndian<uint32_t>(identity.checksum, to + identity_at::kChecksum);
  StoreLittleEndian<uint64_t>(identity.epoch, to + identity_at::kEpoch);
  StoreLittleEndian<uint64_t>(identity.call_id, to + identity_at::kCallId);
  StoreLittleEndian<uint64_t>(identity.payload_bytes, to + identity_at::kPayloadBytes);
}

absl::StatusOr<Identity> DecodeIdentity(absl::Span<const std::byte> bytes) {
  if (bytes.size() < kIdentityBytes) {
    return absl::DataLossError(absl::StrCat("an identity block of ", bytes.size(), " bytes"));
  }
  if (LoadLittleEndian<uint32_t>(&bytes[identity_at::kMagic]) != kIdentityMagic) {
    return absl::DataLossError("what was fetched does not start with an identity block");
  }
  Identity identity;
  identity.checksum = LoadLittleEndian<uint32_t>(&bytes[identity_at::kChecksum]);
  identity.epoch = LoadLittleEndian<uint64_t>(&bytes[identity_at::kEpoch]);
  identity.call_id = LoadLittleEndian<uint64_t>(&bytes[identity_at::kCallId]);
  identity.payload_bytes = LoadLittleEndian<uint64_t>(&bytes[identity_at::kPayloadBytes]);
  return identity;
}

absl::string_view ToString(FrameType type) {
  switch (type) {
    case FrameType::kEager:
      return "eager";
    case FrameType::kAnnounce:
      return "announce";
    case FrameType::kFinish:
      return "finish";
    case FrameType::kWithdraw:
      return "withdraw";
    case FrameType::kGrant:
      return "grant";
    case FrameType::kReclaim:
      return "reclaim";
    case FrameType::kReturn:
      return "return";
    case FrameType::kPing:
      return "ping";
    case FrameType::kPong:
      return "pong";
    case FrameType::kDrain:
      return "drain";
    case FrameType::kGoodbye:
      return "goodbye";
    case FrameType::kAuthenticate:
      return "authenticate";
  }
  return "unknown";
}

absl::string_view ToString(FinishReason reason) {
  switch (reason) {
    case FinishReason::kFetched:
      return "fetched";
    case FinishReason::kRefused:
      return "refused";
    case FinishReason::kWithdrawn:
      return "withdrawn";
    case FinishReason::kFailed:
      return "failed";
    case FinishReason::kNoMemory:
      return "no memory";
  }
  return "unknown";
}

absl::string_view ToString(GoodbyeReason reason) {
  switch (reason) {
    case GoodbyeReason::kClosed:
      return "closed";
    case GoodbyeReason::kProtocolError:
      return "protocol error";
    case GoodbyeReason::kQuarantineFull:
      return "quarantine full";
    case GoodbyeReason::kShutdown:
      return "shutting down";
    case GoodbyeReason::kAuthenticationFailed:
      return "authentication failed";
  }
  return "unknown";
}

absl::string_view ToString(AuthenticationStep step) {
  switch (step) {
    case AuthenticationStep::kContinue:
      return "continue";
    case AuthenticationStep::kAccept:
      return "accept";
  }
  return "unknown";
}

}  // namespace verbena::wire
