// Frames that no peer of the protocol would send: each ends the connection that it came on, and no other.

#include <random>

#include "gtest/gtest.h"
#include "tests/hostile/attacked_server.h"
#include "tests/hostile/frames.h"

namespace verbena::hostile {
namespace {

using wire::FrameBytes;
using wire::FrameHeader;
using wire::FrameType;

class MalformedFrames : public AttackedServer {
 protected:
  // Every shorter part of the frame, from nothing to all but its last byte.
  void ExpectEveryPrefixRefused(const Bytes& frame) {
    for (size_t length = 0; length < frame.size() && !HasFailure(); ++length) {
      SCOPED_TRACE(length);
      ExpectRefused(Bytes(frame.begin(), frame.begin() + static_cast<ptrdiff_t>(length)));
    }
  }
  // The frame is either taken or refused, and the server goes on in any case.
  void ExpectSurvived(const Bytes& frame) {
    const std::unique_ptr<HostilePeer> peer = Connect();
    ASSERT_NE(peer, nullptr);
    peer->Send(frame);
    peer->Send(Control(FrameType::kPing));
    peer->Receive(FrameType::kPong);  // Or the end.
  }
};

Bytes WithByte(Bytes frame, size_t at, uint8_t value) {
  frame.at(at) = std::byte{value};
  return frame;
}

TEST_F(MalformedFrames, EveryPrefixOfARequestIsRefused) { ExpectEveryPrefixRefused(EchoRequest(1)); }

TEST_F(MalformedFrames, EveryPrefixOfAnAnnouncementIsRefused) {
  ExpectEveryPrefixRefused(Announcement(1, 0, {{4096, 4096, 7}, {65536, 64, 8}}));
}

TEST_F(MalformedFrames, BytesBehindTheFrameAreRefused) {
  Bytes frame = Control(FrameType::kPing);
  frame.push_back(std::byte{0});
  ExpectRefused(frame);
}

TEST_F(MalformedFrames, AnotherVersionIsRefused) {
  for (const uint8_t version : {0, 2, 99, 255}) ExpectRefused(WithByte(EchoRequest(1), 0, version));
}

TEST_F(MalformedFrames, UnknownTypesAreRefused) {
  for (const uint8_t type : {0, 12, 13, 99, 255}) ExpectRefused(WithByte(Control(FrameType::kPing), 1, type));
}

TEST_F(MalformedFrames, ReservedBitsAreRefused) {
  ExpectRefused(WithByte(Control(FrameType::kPing), 11, 1));
  ExpectRefused(WithByte(EchoRequest(1), 2, 1));     // The flag of announcements on a request.
  ExpectRefused(WithByte(EchoRequest(1), 3, 0x80));  // A flag that nobody knows.
  Bytes announcement = Announcement(1, 0, {{4096, 4096, 7}});
  announcement.back() = std::byte{1};  // Of its segment.
  ExpectRefused(announcement);
}

TEST_F(MalformedFrames, FieldsThatTheTypeDoesNotUseAreRefused) {
  for (const FrameType type : {FrameType::kGrant, FrameType::kReclaim, FrameType::kPing, FrameType::kDrain}) {
    ExpectRefused(Control(type, /*aux=*/1));
    ExpectRefused(Control(type, 0, /*call_id=*/1));
  }
  FrameHeader header = ControlHeader(FrameType::kPing);
  header.payload_bytes = 1;
  ExpectRefused(FrameBytes(header));
}

TEST_F(MalformedFrames, HugeLengthsAreRefused) {
  for (const uint64_t length : {uint64_t{1} << 32, uint64_t{1} << 63, ~uint64_t{0}, ~uint64_t{31}}) {
    FrameHeader header;
    header.type = FrameType::kEager;
    header.message_kind = 1;
    header.payload_bytes = length;
    ExpectRefused(FrameBytes(header));
    header.type = FrameType::kAnnounce;
    ExpectRefused(FrameBytes(header, {wire::SegmentBytes({{4096, 64, 7}})}));
  }
  FrameHeader header = ControlHeader(FrameType::kPing);
  header.extension_bytes = 0xffff;
  ExpectRefused(FrameBytes(header));
  header.extension_bytes = 0;
  header.call_header_bytes = 0xffff;
  ExpectRefused(FrameBytes(header));
}

TEST_F(MalformedFrames, ExtensionsThatOverrunTheirListAreRefused) {
  FrameHeader header = ControlHeader(FrameType::kPing);
  header.extension_bytes = 6;
  ExpectRefused(FrameBytes(header, {wire::BytesOf(absl::string_view("\1\0\xff\xff\0\0", 6))}));
}

TEST_F(MalformedFrames, UnknownExtensionsAreSkipped) {
  const std::unique_ptr<HostilePeer> peer = Connect();
  ASSERT_NE(peer, nullptr);
  FrameHeader header = ControlHeader(FrameType::kPing);
  header.extension_bytes = 6;
  peer->Send(FrameBytes(header, {wire::BytesOf(absl::string_view("\1\0\2\0xy", 6))}));
  EXPECT_TRUE(peer->Receive(FrameType::kPong).has_value());
}

TEST_F(MalformedFrames, SegmentsThatDoNotAddUpAreRefused) {
  Bytes short_by_one = Announcement(1, 0, {{4096, 4096, 7}});
  short_by_one.at(24) = std::byte{1};  // payload_bytes.
  ExpectRefused(short_by_one);
  ExpectRefused(Announcement(1, 0, {{4096, 4096, 7}, {8192, 0, 7}}));              // An empty one.
  ExpectRefused(Announcement(1, 0, {{~uint64_t{0} - 100, 4096, 7}}));              // Past the end of memory.
  ExpectRefused(Announcement(1, 0, std::vector<wire::Segment>(65, {64, 64, 7})));  // One too many.
  FrameHeader none;
  none.type = FrameType::kAnnounce;
  ExpectRefused(FrameBytes(none));
}

TEST_F(MalformedFrames, AnUnknownFinishReasonIsRefused) {
  ExpectRefused(Finish(0, 1, static_cast<wire::FinishReason>(5)));
  ExpectRefused(Finish(0, 1, static_cast<wire::FinishReason>(255)));
}

TEST_F(MalformedFrames, AnUnknownGoodbyeReasonEndsTheConnectionAsAnyOther) {
  const std::unique_ptr<HostilePeer> peer = Connect();
  ASSERT_NE(peer, nullptr);
  peer->Send(Control(FrameType::kGoodbye, 99));
  ExpectEnded(*peer);
}

TEST_F(MalformedFrames, AFrameLongerThanTheServersBuffersEndsTheConnection) {
  for (const size_t length : {size_t{8193}, HostileDevice::kSendBytesMax}) {
    const std::unique_ptr<HostilePeer> peer = Connect();
    ASSERT_NE(peer, nullptr);
    peer->Send(Bytes(length, std::byte{1}));
    ExpectEnded(*peer);
  }
}

// Each is replayed by its seed, which is the number in the trace.
TEST_F(MalformedFrames, RandomBytesAreRefused) {
  for (uint32_t seed = 1; seed <= 150 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    Bytes frame(random() % 300);
    for (std::byte& byte : frame) byte = static_cast<std::byte>(random());
    ExpectSurvived(frame);
  }
}

TEST_F(MalformedFrames, RequestsWithRandomDamageAreSurvived) {
  for (uint32_t seed = 1; seed <= 150 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    Bytes frame = seed % 2 == 0 ? EchoRequest(seed) : Announcement(seed, seed % 40, {{4096, 4096, 7}});
    for (uint32_t damage = 1 + random() % 3; damage > 0; --damage) {
      frame[random() % frame.size()] = static_cast<std::byte>(random());
    }
    ExpectSurvived(frame);
  }
}

}  // namespace
}  // namespace verbena::hostile
