// Fuzz target: every decoder of the wire, on the same bytes. None may crash, read outside them or contradict its
// contract: what decodes, encodes to the same bytes.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "transport/wire/extension.h"
#include "transport/wire/frame.h"
#include "transport/wire/frame_bytes.h"
#include "transport/wire/hello.h"

namespace verbena::wire {
namespace {

// A fuzzer knows a failure by its abort; and an assertion may be off.
void Require(bool held) {
  if (!held) std::abort();
}

bool SameBytes(absl::Span<const std::byte> a, absl::Span<const std::byte> b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin());
}

void FuzzExtensions(absl::Span<const std::byte> bytes) {
  if (!CheckExtensions(bytes).ok()) return;
  Bytes again(bytes.size());
  size_t size = 0;
  ExtensionReader reader(bytes);
  while (const std::optional<Extension> extension = reader.Next()) {
    size += EncodeExtension(*extension, absl::MakeSpan(again).subspan(size));
  }
  Require(size == bytes.size());
  Require(SameBytes(again, bytes));
}

// What DecodeFrame promises of an announcement's segments.
void CheckPromises(const FrameView& announce) {
  Require(SegmentCount(announce) >= 1 && SegmentCount(announce) <= kSegmentsMax);
  uint64_t left = announce.header.payload_bytes + kIdentityBytes;
  Require(left >= kIdentityBytes);
  for (size_t i = 0; i < SegmentCount(announce); ++i) {
    const Segment segment = DecodeSegment(announce, i);
    Require(segment.length > 0 && segment.length <= left);
    Require(segment.address + segment.length >= segment.address);
    left -= segment.length;
  }
  Require(left == 0);
}

void FuzzFrame(absl::Span<const std::byte> bytes) {
  const absl::StatusOr<FrameView> frame = DecodeFrame(bytes);
  FrameReader reader(bytes, Packing::kNone);  // Knows the commonest frame by a shorter way.
  FrameView read;
  Require(reader.Next(&read).ok() == frame.ok());
  if (!frame.ok()) return Require(!frame.status().message().empty());
  Require(SameBytes(EncodeAgain(read), bytes));
  Require(ToString(frame->header.type) != "unknown");
  if (frame->header.type == FrameType::kAnnounce) CheckPromises(*frame);
  Require(SameBytes(EncodeAgain(*frame), bytes));
  FuzzExtensions(frame->extensions);
}

// What a SEND's frames encode to, one behind the other, is the SEND.
void FuzzPacked(absl::Span<const std::byte> bytes, Packing packing) {
  Bytes again;
  FrameReader reader(bytes, packing);
  while (!reader.done()) {
    FrameView frame;
    if (const absl::Status status = reader.Next(&frame); !status.ok()) return Require(!status.message().empty());
    const FrameType type = frame.header.type;
    const bool of_rendezvous = type == FrameType::kAnnounce || type == FrameType::kFinish;
    Require(again.empty() || type == FrameType::kEager || (of_rendezvous && packing == Packing::kRendezvous));
    if (type == FrameType::kAnnounce) CheckPromises(frame);
    const Bytes one = EncodeAgain(frame);
    Require(DecodeFrame(one).ok());
    again.insert(again.end(), one.begin(), one.end());
  }
  Require(SameBytes(again, bytes));
}

// Reserved bytes are ignored and not kept: decoding what was encoded again must change nothing more.
void FuzzHello(absl::Span<const std::byte> bytes) {
  const absl::StatusOr<Hello> hello = DecodeHello(bytes);
  if (!hello.ok()) return;
  Bytes once(kHelloBytes);
  EncodeHello(*hello, once.data());
  for (size_t i = 0; i < kHelloBytes; ++i) {
    const bool reserved = (i >= 18 && i < 20) || i >= 32;
    Require(once[i] == (reserved ? std::byte{0} : bytes[i]));
  }
}

void FuzzRejection(absl::Span<const std::byte> bytes) {
  const absl::StatusOr<Rejection> rejection = DecodeRejection(bytes);
  if (!rejection.ok()) return;
  Require(!ToString(rejection->reason).empty());
  Bytes again(kRejectionBytes);
  EncodeRejection(*rejection, again.data());
  Require(SameBytes(absl::MakeConstSpan(again).first(8), bytes.first(8)));
}

void FuzzIdentity(absl::Span<const std::byte> bytes) {
  const absl::StatusOr<Identity> identity = DecodeIdentity(bytes);
  if (!identity.ok()) return;
  Bytes again(kIdentityBytes);
  EncodeIdentity(*identity, again.data());
  Require(SameBytes(again, bytes.first(kIdentityBytes)));
}

}  // namespace
}  // namespace verbena::wire

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto bytes = absl::MakeConstSpan(reinterpret_cast<const std::byte*>(data), size);
  verbena::wire::FuzzFrame(bytes);
  verbena::wire::FuzzPacked(bytes, verbena::wire::Packing::kEager);
  verbena::wire::FuzzPacked(bytes, verbena::wire::Packing::kRendezvous);
  verbena::wire::FuzzExtensions(bytes);
  verbena::wire::FuzzHello(bytes);
  verbena::wire::FuzzRejection(bytes);
  verbena::wire::FuzzIdentity(bytes);
  return 0;
}
