// The wire format, byte by byte: testdata/*.hex is written by hand from docs/wire.md. A change here breaks every peer
// that is not rebuilt; it needs a new version.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/golden/hex_file.h"
#include "transport/wire/extension.h"
#include "transport/wire/frame.h"
#include "transport/wire/frame_bytes.h"
#include "transport/wire/hello.h"

namespace verbena::wire {
namespace {

constexpr uint64_t kCallId = uint64_t{7} << 32 | 42;
constexpr uint32_t kTransfer = 5 << 16 | 3;
constexpr uint64_t kLongPayload = (uint64_t{4} << 30) + 1;

Bytes Golden(const std::string& name) {
  absl::StatusOr<Bytes> bytes = testing::ReadHexFile("transport/wire/testdata/" + name + ".hex");
  EXPECT_TRUE(bytes.ok()) << bytes.status();
  return bytes.ok() ? *bytes : Bytes();
}

// The golden bytes are what `header` and `pieces` encode to, and decode and encode to themselves.
void ExpectPinned(const std::string& name, const FrameHeader& header, std::initializer_list<Bytes> pieces = {}) {
  const Bytes golden = Golden(name);
  EXPECT_EQ(FrameBytes(header, pieces), golden);
  const absl::StatusOr<FrameView> view = DecodeFrame(golden);
  ASSERT_TRUE(view.ok()) << view.status();
  EXPECT_EQ(view->header.type, header.type);
  EXPECT_EQ(EncodeAgain(*view), golden);
}

TEST(WireGolden, EagerIsPinned) {
  Bytes extension(7);
  const Bytes value = BytesOf("abc");
  ASSERT_EQ(EncodeExtension({0x1234, value}, absl::MakeSpan(extension)), 7u);
  ExpectPinned("eager",
               {.type = FrameType::kEager,
                .credit_grant = 3,
                .extension_bytes = 7,
                .call_header_bytes = 4,
                .message_kind = 2,
                .call_id = kCallId,
                .payload_bytes = 5},
               {extension, BytesOf("head"), BytesOf("hello")});
}

TEST(WireGolden, PackedFramesArePinned) {
  const Bytes golden = Golden("packed");
  FrameHeader header = {.type = FrameType::kEager,
                        .credit_grant = 2,
                        .call_header_bytes = 3,
                        .message_kind = 1,
                        .call_id = kCallId,
                        .payload_bytes = 5};
  const Bytes first = FrameBytes(header, {BytesOf("one"), BytesOf("first")});
  header.credit_grant = 0;
  header.call_id = kCallId + 1;
  header.payload_bytes = 6;
  const Bytes second = FrameBytes(header, {BytesOf("two"), BytesOf("second")});
  EXPECT_EQ(Together({first, second}), golden);
  FrameReader reader(golden, Packing::kEager);
  FrameView frame;
  ASSERT_TRUE(reader.Next(&frame).ok());
  EXPECT_EQ(TextOf(frame.body), "first");
  ASSERT_TRUE(reader.Next(&frame).ok());
  EXPECT_EQ(TextOf(frame.body), "second");
  EXPECT_TRUE(reader.done());
}

TEST(WireGolden, PackedFramesOfARendezvousArePinned) {
  const Bytes golden = Golden("packed_rendezvous");
  const Bytes finish =
      FrameBytes({.type = FrameType::kFinish, .credit_grant = 2, .aux = kTransfer, .call_id = kCallId});
  const Bytes announce = FrameBytes({.type = FrameType::kAnnounce,
                                     .call_header_bytes = 4,
                                     .message_kind = 1,
                                     .aux = kTransfer,
                                     .call_id = kCallId + 1,
                                     .payload_bytes = 68},
                                    {BytesOf("head"), SegmentBytes({{0x7f0000001000, 100, 0xcafe}})});
  FrameHeader eager = {.type = FrameType::kEager, .message_kind = 1, .call_id = kCallId + 2, .payload_bytes = 5};
  EXPECT_EQ(Together({finish, announce, FrameBytes(eager, {BytesOf("eager")})}), golden);
  FrameReader reader(golden, Packing::kRendezvous);
  for (const FrameType type : {FrameType::kFinish, FrameType::kAnnounce, FrameType::kEager}) {
    FrameView frame;
    ASSERT_TRUE(reader.Next(&frame).ok());
    EXPECT_EQ(frame.header.type, type);
  }
  EXPECT_TRUE(reader.done());
}

TEST(WireGolden, AnnounceIsPinned) {
  ExpectPinned("announce",
               {.type = FrameType::kAnnounce,
                .flags = kFlagChecksum,
                .credit_grant = 1,
                .call_header_bytes = 4,
                .message_kind = 1,
                .aux = kTransfer,
                .call_id = kCallId,
                .payload_bytes = kLongPayload},
               {BytesOf("head"),
                SegmentBytes({{0x7f0000001000, (uint64_t{4} << 30) + 32, 0xcafe}, {0x7f8000000000, 1, 0xbeef}})});
}

TEST(WireGolden, FinishIsPinned) {
  ExpectPinned("finish", {.type = FrameType::kFinish,
                          .credit_grant = 2,
                          .message_kind = static_cast<uint8_t>(FinishReason::kNoMemory),
                          .aux = kTransfer,
                          .call_id = kCallId});
}

TEST(WireGolden, WithdrawIsPinned) {
  ExpectPinned("withdraw", {.type = FrameType::kWithdraw, .aux = kTransfer, .call_id = kCallId});
}

TEST(WireGolden, GrantIsPinned) { ExpectPinned("grant", {.type = FrameType::kGrant, .credit_grant = 0x1234}); }

TEST(WireGolden, ReclaimIsPinned) { ExpectPinned("reclaim", {.type = FrameType::kReclaim, .credit_grant = 1}); }

TEST(WireGolden, ReturnIsPinned) { ExpectPinned("return", {.type = FrameType::kReturn, .credit_grant = 1, .aux = 9}); }

TEST(WireGolden, PingIsPinned) { ExpectPinned("ping", {.type = FrameType::kPing}); }

TEST(WireGolden, PongIsPinned) { ExpectPinned("pong", {.type = FrameType::kPong, .credit_grant = 1}); }

TEST(WireGolden, DrainIsPinned) { ExpectPinned("drain", {.type = FrameType::kDrain, .credit_grant = 1}); }

TEST(WireGolden, GoodbyeIsPinned) {
  ExpectPinned("goodbye",
               {.type = FrameType::kGoodbye,
                .call_header_bytes = 7,
                .aux = static_cast<uint32_t>(GoodbyeReason::kProtocolError)},
               {BytesOf("too bad")});
}

TEST(WireGolden, AuthenticateIsPinned) {
  ExpectPinned("authenticate",
               {.type = FrameType::kAuthenticate,
                .credit_grant = 1,
                .call_header_bytes = 5,
                .aux = static_cast<uint32_t>(AuthenticationStep::kAccept)},
               {BytesOf("proof")});
}

TEST(WireGolden, IdentityIsPinned) {
  const Identity identity{
      .epoch = 0x1122334455667788, .call_id = kCallId, .payload_bytes = kLongPayload, .checksum = 0xe3069283};
  Bytes bytes(kIdentityBytes);
  EncodeIdentity(identity, bytes.data());
  EXPECT_EQ(bytes, Golden("identity"));
  const absl::StatusOr<Identity> decoded = DecodeIdentity(bytes);
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(*decoded, identity);
}

TEST(WireGolden, HelloIsPinned) {
  Hello hello{.version_min = 1,
              .version_max = 2,
              .initial_credits = 16,
              .features = kFeatureChecksum,
              .receive_buffer_bytes = 8192,
              .read_depth = 16,
              .keepalive_ms = 10000,
              .epoch = 0x1122334455667788};
  Bytes bytes(kHelloBytes);
  EncodeHello(hello, bytes.data());
  EXPECT_EQ(bytes, Golden("hello"));
}

TEST(WireGolden, RejectionIsPinned) {
  Bytes bytes(kRejectionBytes);
  EncodeRejection({.reason = RejectReason::kTooManyConnections, .version_min = 1, .version_max = 2}, bytes.data());
  EXPECT_EQ(bytes, Golden("rejection"));
}

}  // namespace
}  // namespace verbena::wire
