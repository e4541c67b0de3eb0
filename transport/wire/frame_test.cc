#include "transport/wire/frame.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "transport/wire/extension.h"
#include "transport/wire/frame_bytes.h"

namespace verbena::wire {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr uint64_t kCallId = uint64_t{7} << 32 | 42;
constexpr uint64_t kMax = std::numeric_limits<uint64_t>::max();

constexpr FrameType kAllTypes[] = {FrameType::kEager,    FrameType::kAnnounce, FrameType::kFinish,
                                   FrameType::kWithdraw, FrameType::kGrant,    FrameType::kReclaim,
                                   FrameType::kReturn,   FrameType::kPing,     FrameType::kPong,
                                   FrameType::kDrain,    FrameType::kGoodbye,  FrameType::kAuthenticate};

FrameHeader Eager(uint16_t call_header_bytes, uint64_t payload_bytes) {
  return {.type = FrameType::kEager,
          .call_header_bytes = call_header_bytes,
          .message_kind = 1,
          .call_id = kCallId,
          .payload_bytes = payload_bytes};
}

FrameHeader Announce(uint64_t payload_bytes) {
  return {
      .type = FrameType::kAnnounce, .message_kind = 1, .aux = 3, .call_id = kCallId, .payload_bytes = payload_bytes};
}

// The error that decoding must end in.
std::string ErrorOf(const Bytes& bytes) {
  const absl::StatusOr<FrameView> frame = DecodeFrame(bytes);
  if (frame.ok()) return "no error";
  EXPECT_EQ(frame.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(frame.status().message());
}

TEST(Frame, EagerPartsAreFound) {
  FrameHeader header = Eager(4, 7);
  header.credit_grant = 0xffff;
  const Bytes bytes = FrameBytes(header, {BytesOf("head"), BytesOf("payload")});
  const absl::StatusOr<FrameView> frame = DecodeFrame(bytes);
  ASSERT_TRUE(frame.ok()) << frame.status();
  EXPECT_EQ(frame->header.message_kind, 1);
  EXPECT_EQ(frame->header.call_id, kCallId);
  EXPECT_EQ(frame->header.credit_grant, 0xffff);
  EXPECT_EQ(TextOf(frame->call_header), "head");
  EXPECT_EQ(TextOf(frame->body), "payload");
}

// The call headers of the frames of one SEND; the error, if there is one, is the last.
std::vector<std::string> PackedIn(const Bytes& bytes, Packing packing = Packing::kEager) {
  std::vector<std::string> read;
  FrameReader reader(bytes, packing);
  while (!reader.done()) {
    FrameView frame;
    const absl::Status status = reader.Next(&frame);
    read.push_back(status.ok() ? TextOf(frame.call_header) + "/" + TextOf(frame.body) : std::string(status.message()));
    if (!status.ok()) break;
  }
  return read;
}

TEST(FrameReader, ReadsEagerFramesOneBehindTheOther) {
  const Bytes one = FrameBytes(Eager(3, 4), {BytesOf("one"), BytesOf("body")});
  const Bytes empty = FrameBytes(Eager(0, 0));
  EXPECT_THAT(PackedIn(one), ElementsAre("one/body"));
  EXPECT_THAT(PackedIn(Together({one, empty, one})), ElementsAre("one/body", "/", "one/body"));
}

TEST(FrameReader, WithoutPackingTheSecondIsAnError) {
  const Bytes one = FrameBytes(Eager(3, 4), {BytesOf("one"), BytesOf("body")});
  EXPECT_THAT(PackedIn(one, Packing::kNone), ElementsAre("one/body"));
  EXPECT_THAT(PackedIn(Together({one, one}), Packing::kNone),
              ElementsAre("an eager frame carries 43 bytes of payload and says 4"));
}

TEST(FrameReader, ReadsTheFramesOfARendezvousInAnyOrder) {
  const Bytes one = FrameBytes(Eager(3, 4), {BytesOf("one"), BytesOf("body")});
  const Bytes finish = FrameBytes({.type = FrameType::kFinish, .aux = 7, .call_id = kCallId});
  const Bytes segments = SegmentBytes({{64, 100, 1}, {4096, 32, 2}});
  const Bytes announce = FrameBytes(Announce(100), {segments});
  const std::string announced = absl::StrCat("/", TextOf(segments));
  EXPECT_THAT(PackedIn(Together({finish, announce, one}), Packing::kRendezvous),
              ElementsAre("/", announced, "one/body"));
  EXPECT_THAT(PackedIn(Together({announce, announce, finish, finish}), Packing::kRendezvous),
              ElementsAre(announced, announced, "/", "/"));
  EXPECT_THAT(PackedIn(Together({announce, finish})), ElementsAre(Not(announced)));
  EXPECT_THAT(PackedIn(Together({finish, announce})),
              ElementsAre("a frame of type finish has 80 bytes behind its end"));
}

TEST(FrameReader, AnAnnouncementEndsWhereItsSegmentsFillItsPayload) {
  const auto together = [](std::initializer_list<Segment> segments) {
    const Bytes finish = FrameBytes({.type = FrameType::kFinish, .aux = 7, .call_id = kCallId});
    return PackedIn(Together({FrameBytes(Announce(100), {SegmentBytes(segments)}), finish}), Packing::kRendezvous);
  };
  EXPECT_THAT(together({{64, 132, 1}}), ElementsAre(Not(HasSubstr("segment")), "/"));
  EXPECT_THAT(together({{64, 133, 1}}), ElementsAre(HasSubstr("no whole number of segments")));
  EXPECT_THAT(together({{64, 131, 1}}), ElementsAre(HasSubstr("no whole number of segments")));
  EXPECT_THAT(together({{64, 0, 1}, {64, 132, 1}}), ElementsAre("segment 0 is empty"));
  EXPECT_THAT(together({}), ElementsAre(HasSubstr("no whole number of segments")));
}

TEST(FrameReader, OtherFramesStandAloneBesideARendezvousToo) {
  const Bytes finish = FrameBytes({.type = FrameType::kFinish, .aux = 7, .call_id = kCallId});
  for (const FrameType type : {FrameType::kGrant, FrameType::kWithdraw, FrameType::kPing, FrameType::kGoodbye}) {
    const Bytes other = FrameBytes({.type = type});
    EXPECT_THAT(PackedIn(other, Packing::kRendezvous), ElementsAre("/"));
    EXPECT_THAT(PackedIn(Together({finish, other}), Packing::kRendezvous),
                ElementsAre("/", HasSubstr("behind another in one SEND")));
    EXPECT_THAT(PackedIn(Together({other, finish}), Packing::kRendezvous), ElementsAre(HasSubstr("behind its end")));
  }
}

TEST(FrameReader, OnlyEagerFramesAreInCompany) {
  const Bytes one = FrameBytes(Eager(3, 4), {BytesOf("one"), BytesOf("body")});
  const Bytes grant = FrameBytes({.type = FrameType::kGrant});
  EXPECT_THAT(PackedIn(grant), ElementsAre("/"));
  EXPECT_THAT(PackedIn(Together({one, grant})),
              ElementsAre("one/body", "a frame of type grant behind another in one SEND"));
  EXPECT_THAT(PackedIn(Together({grant, one})), ElementsAre("a frame of type grant has 39 bytes behind its end"));
}

TEST(FrameReader, MoreThanTheMostFramesAreAnError) {
  Bytes frames;
  for (size_t i = 0; i < kFramesPerSendMax; ++i) frames = Together({frames, FrameBytes(Eager(0, 0))});
  EXPECT_EQ(PackedIn(frames).size(), kFramesPerSendMax);
  EXPECT_EQ(PackedIn(frames).back(), "/");
  EXPECT_EQ(PackedIn(Together({frames, FrameBytes(Eager(0, 0))})).back(), "more than 16 frames in one SEND");
}

TEST(FrameReader, WhatIsCutShortIsAnErrorBehindTheOthers) {
  const Bytes one = FrameBytes(Eager(3, 4), {BytesOf("one"), BytesOf("body")});
  for (size_t length = 1; length < one.size(); ++length) {
    const Bytes cut(one.begin(), one.begin() + static_cast<ptrdiff_t>(length));
    EXPECT_THAT(PackedIn(Together({one, cut})), ElementsAre("one/body", Not(IsEmpty())));
    EXPECT_NE(PackedIn(Together({one, cut})).back(), "one/body");
  }
  EXPECT_THAT(PackedIn({}), ElementsAre("a frame of 0 bytes; the header alone has 32"));
}

TEST(Frame, EmptyEagerIsAllowed) { EXPECT_TRUE(DecodeFrame(FrameBytes(Eager(0, 0))).ok()); }

TEST(Frame, EveryFrameCutAnywhereIsRejected) {
  const Bytes eager = FrameBytes(Eager(4, 7), {BytesOf("head"), BytesOf("payload")});
  const Bytes announce = FrameBytes(Announce(100), {SegmentBytes({{64, 100, 1}, {4096, 32, 2}})});
  for (const Bytes& whole : {eager, announce, FrameBytes({.type = FrameType::kPing})}) {
    for (size_t length = 0; length < whole.size(); ++length) {
      EXPECT_FALSE(DecodeFrame(absl::MakeConstSpan(whole).first(length)).ok()) << length;
    }
  }
}

TEST(Frame, BytesBehindTheEndAreRejected) {
  for (FrameType type : kAllTypes) {
    FrameHeader header;
    header.type = type;
    EXPECT_FALSE(DecodeFrame(FrameBytes(header, {BytesOf("x")})).ok()) << ToString(type);
  }
}

TEST(Frame, ControlFramesAreTheHeaderAlone) {
  for (FrameType type : kAllTypes) {
    if (type == FrameType::kAnnounce) continue;
    FrameHeader header;
    header.type = type;
    EXPECT_TRUE(DecodeFrame(FrameBytes(header)).ok()) << ToString(type);
  }
}

TEST(Frame, UnknownTypeIsRejected) {
  for (int type : {0, 13, 255}) {
    FrameHeader header;
    header.type = static_cast<FrameType>(type);
    EXPECT_EQ(ErrorOf(FrameBytes(header)), "unknown frame type " + std::to_string(type));
  }
}

TEST(Frame, OtherVersionIsRejected) {
  Bytes bytes = FrameBytes(Eager(0, 0));
  bytes[0] = std::byte{2};
  EXPECT_EQ(ErrorOf(bytes), "a frame of version 2; this connection speaks 1");
}

TEST(Frame, ReservedByteIsRejected) {
  Bytes bytes = FrameBytes(Eager(0, 0));
  bytes[11] = std::byte{1};
  EXPECT_THAT(ErrorOf(bytes), HasSubstr("reserved bits"));
}

TEST(Frame, ChecksumFlagIsForAnnouncementsOnly) {
  FrameHeader announce = Announce(0);
  announce.flags = kFlagChecksum;
  EXPECT_TRUE(DecodeFrame(FrameBytes(announce, {SegmentBytes({{64, 32, 1}})})).ok());
  FrameHeader eager = Eager(0, 0);
  eager.flags = kFlagChecksum;
  EXPECT_EQ(ErrorOf(FrameBytes(eager)), "a frame of type eager has unknown flags 1");
  announce.flags = 1 << 15;
  EXPECT_THAT(ErrorOf(FrameBytes(announce)), HasSubstr("unknown flags"));
}

TEST(Frame, FieldsThatATypeDoesNotUseMustBeZero) {
  EXPECT_THAT(ErrorOf(FrameBytes({.type = FrameType::kPing, .aux = 1})), HasSubstr("aux"));
  EXPECT_THAT(ErrorOf(FrameBytes({.type = FrameType::kPing, .call_id = 1})), HasSubstr("call id"));
  EXPECT_THAT(ErrorOf(FrameBytes({.type = FrameType::kPing, .payload_bytes = 1})), HasSubstr("payload length"));
  EXPECT_THAT(ErrorOf(FrameBytes({.type = FrameType::kPing, .message_kind = 1})), HasSubstr("message kind"));
  EXPECT_THAT(ErrorOf(FrameBytes({.type = FrameType::kPing, .call_header_bytes = 1}, {BytesOf("x")})),
              HasSubstr("call header"));
  EXPECT_THAT(ErrorOf(FrameBytes({.type = FrameType::kEager, .aux = 1})), HasSubstr("aux"));
}

TEST(Frame, UnknownFinishReasonIsRejected) {
  EXPECT_EQ(ErrorOf(FrameBytes({.type = FrameType::kFinish, .message_kind = 5})),
            "a finish frame has the unknown reason 5");
}

TEST(Frame, UnknownAuthenticationStepIsRejected) {
  EXPECT_EQ(ErrorOf(FrameBytes({.type = FrameType::kAuthenticate, .aux = 2})),
            "an authenticate frame has the unknown step 2");
}

TEST(Frame, UnknownGoodbyeReasonIsKept) {
  const Bytes bytes = FrameBytes({.type = FrameType::kGoodbye, .aux = 99});
  const absl::StatusOr<FrameView> frame = DecodeFrame(bytes);
  ASSERT_TRUE(frame.ok()) << frame.status();
  EXPECT_EQ(ToString(static_cast<GoodbyeReason>(frame->header.aux)), "unknown");
}

TEST(Frame, LengthsBeyondTheFrameAreRejected) {
  EXPECT_THAT(ErrorOf(FrameBytes({.type = FrameType::kEager, .extension_bytes = 0xffff, .call_header_bytes = 0xffff})),
              HasSubstr("do not fit a frame of 32"));
  EXPECT_EQ(ErrorOf(FrameBytes(Eager(0, 8), {BytesOf("seven b")})),
            "an eager frame carries 7 bytes of payload and says 8");
  EXPECT_FALSE(DecodeFrame(FrameBytes(Eager(0, kMax), {BytesOf("x")})).ok());
}

TEST(Frame, UnknownExtensionsAreSkipped) {
  Bytes extension(6);
  const Bytes value = BytesOf("ab");
  EncodeExtension({0x7777, value}, absl::MakeSpan(extension));
  const Bytes bytes = FrameBytes({.type = FrameType::kGrant, .credit_grant = 1, .extension_bytes = 6}, {extension});
  const absl::StatusOr<FrameView> frame = DecodeFrame(bytes);
  ASSERT_TRUE(frame.ok()) << frame.status();
  EXPECT_EQ(frame->extensions.size(), 6u);
}

TEST(Frame, BrokenExtensionsAreRejected) {
  EXPECT_FALSE(DecodeFrame(FrameBytes({.type = FrameType::kGrant, .extension_bytes = 3}, {BytesOf("abc")})).ok());
}

TEST(Announcement, SegmentsAreFound) {
  const Segment first{0x1000, 40, 7};
  const Segment second{kMax - 92, 92, 8};
  const Bytes bytes = FrameBytes(Announce(100), {SegmentBytes({first, second})});
  const absl::StatusOr<FrameView> frame = DecodeFrame(bytes);
  ASSERT_TRUE(frame.ok()) << frame.status();
  ASSERT_EQ(SegmentCount(*frame), 2u);
  EXPECT_EQ(DecodeSegment(*frame, 0), first);
  EXPECT_EQ(DecodeSegment(*frame, 1), second);
}

TEST(Announcement, WithoutSegmentsIsRejected) {
  EXPECT_EQ(ErrorOf(FrameBytes(Announce(0))), "an announcement without segments");
}

TEST(Announcement, PartOfASegmentIsRejected) {
  EXPECT_THAT(ErrorOf(FrameBytes(Announce(0), {Bytes(23)})), HasSubstr("no whole number of segments"));
}

TEST(Announcement, MoreSegmentsThanTheLimitAreRejected) {
  Bytes body;
  for (size_t i = 0; i <= kSegmentsMax; ++i) {
    const Bytes segment = SegmentBytes({{64 * i, 1, 1}});
    body.insert(body.end(), segment.begin(), segment.end());
  }
  EXPECT_EQ(ErrorOf(FrameBytes(Announce(kSegmentsMax + 1 - kIdentityBytes), {body})),
            "an announcement has 65 segments; the limit is 64");
  body.resize(kSegmentsMax * kSegmentBytes);
  EXPECT_TRUE(DecodeFrame(FrameBytes(Announce(kSegmentsMax - kIdentityBytes), {body})).ok());
}

TEST(Announcement, EmptySegmentIsRejected) {
  EXPECT_EQ(ErrorOf(FrameBytes(Announce(0), {SegmentBytes({{64, 32, 1}, {128, 0, 1}})})), "segment 1 is empty");
}

TEST(Announcement, SegmentPastTheEndOfMemoryIsRejected) {
  EXPECT_EQ(ErrorOf(FrameBytes(Announce(0), {SegmentBytes({{kMax - 31, 32, 1}})})),
            "segment 0 runs past the end of memory");
}

TEST(Announcement, SegmentsMustAddUpToThePayload) {
  EXPECT_THAT(ErrorOf(FrameBytes(Announce(10), {SegmentBytes({{64, 41, 1}})})), HasSubstr("1 bytes shorter"));
  EXPECT_THAT(ErrorOf(FrameBytes(Announce(10), {SegmentBytes({{64, 43, 1}})})), HasSubstr("longer than"));
}

TEST(Announcement, SumsThatWrapAreRejected) {
  EXPECT_FALSE(DecodeFrame(FrameBytes(Announce(kMax), {SegmentBytes({{64, 31, 1}})})).ok());
  EXPECT_FALSE(DecodeFrame(FrameBytes(Announce(0), {SegmentBytes({{0, kMax, 1}, {0, 33, 1}})})).ok());
}

TEST(Announcement, ReservedBitsOfASegmentAreRejected) {
  Bytes body = SegmentBytes({{64, 32, 1}});
  body[20] = std::byte{1};
  EXPECT_EQ(ErrorOf(FrameBytes(Announce(0), {body})), "segment 0 has reserved bits set");
}

TEST(IdentityBlock, OtherBytesAreDataLoss) {
  EXPECT_EQ(DecodeIdentity(Bytes(kIdentityBytes)).status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(DecodeIdentity(Bytes(kIdentityBytes - 1)).status().code(), absl::StatusCode::kDataLoss);
}

TEST(FrameWords, EveryValueHasAName) {
  for (FrameType type : kAllTypes) EXPECT_NE(ToString(type), "unknown");
  for (int step = 0; step <= 1; ++step) EXPECT_NE(ToString(static_cast<AuthenticationStep>(step)), "unknown");
  for (int reason = 0; reason <= 4; ++reason) EXPECT_NE(ToString(static_cast<FinishReason>(reason)), "unknown");
  for (int reason = 0; reason <= 4; ++reason) EXPECT_NE(ToString(static_cast<GoodbyeReason>(reason)), "unknown");
}

}  // namespace
}  // namespace verbena::wire
