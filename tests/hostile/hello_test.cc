// Handshakes that are none: refused with a reason, and nothing of them stays.

#include "transport/wire/hello.h"

#include <array>
#include <random>

#include "gtest/gtest.h"
#include "tests/hostile/attacked_server.h"
#include "tests/hostile/frames.h"

namespace verbena::hostile {
namespace {

using wire::RejectReason;

class HostileHello : public AttackedServer {
 protected:
  void ExpectRejected(absl::Span<const std::byte> hello, RejectReason reason) {
    absl::StatusOr<std::unique_ptr<HostilePeer>> peer = HostilePeer::Open(address());
    ASSERT_TRUE(peer.ok()) << peer.status();
    const absl::StatusOr<HostilePeer::Answer> answer = (*peer)->Offer(hello);
    ASSERT_TRUE(answer.ok()) << answer.status();
    EXPECT_FALSE(answer->accepted);
    const absl::StatusOr<wire::Rejection> rejection = wire::DecodeRejection(answer->private_data);
    ASSERT_TRUE(rejection.ok()) << rejection.status();
    EXPECT_EQ(rejection->reason, reason) << ToString(rejection->reason);
    honest().ExpectServed();
  }

  // A hello that is well but for what `spoil` does to it.
  void ExpectRejected(void (*spoil)(wire::Hello*), RejectReason reason) {
    wire::Hello hello;
    hello.initial_credits = 16;
    hello.receive_buffer_bytes = 8192;
    hello.read_depth = 1;
    hello.epoch = 1;
    spoil(&hello);
    std::array<std::byte, wire::kHelloBytes> bytes;
    wire::EncodeHello(hello, bytes.data());
    ExpectRejected(bytes, reason);
  }
};

TEST_F(HostileHello, RandomBytesAreRejectedAsNoHandshake) {
  for (uint32_t seed = 1; seed <= 60 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    Bytes hello(random() % (wire::kPrivateDataBytesMax + 1));
    for (std::byte& byte : hello) byte = static_cast<std::byte>(random());
    ExpectRejected(hello, RejectReason::kMalformed);
  }
}

TEST_F(HostileHello, EveryPrefixOfAHelloIsRejected) {
  wire::Hello hello;
  Bytes bytes(wire::kHelloBytes);
  wire::EncodeHello(hello, bytes.data());
  // The fabric may pad with zeros, so what is cut off must not have been zero.
  for (const size_t length : {0, 1, 3, 4}) {
    ExpectRejected(absl::MakeConstSpan(bytes).first(length), RejectReason::kMalformed);
  }
}

TEST_F(HostileHello, VersionsOfAnotherAgeAreRejectedAsSuch) {
  ExpectRejected([](wire::Hello* hello) { hello->version_min = hello->version_max = 99; }, RejectReason::kVersion);
  ExpectRejected([](wire::Hello* hello) { hello->version_min = 2, hello->version_max = 255; }, RejectReason::kVersion);
}

TEST_F(HostileHello, ImpossibleNumbersAreRejected) {
  ExpectRejected([](wire::Hello* hello) { hello->receive_buffer_bytes = 0; }, RejectReason::kBadParameters);
  ExpectRejected([](wire::Hello* hello) { hello->receive_buffer_bytes = 511; }, RejectReason::kBadParameters);
  ExpectRejected([](wire::Hello* hello) { hello->initial_credits = 0; }, RejectReason::kBadParameters);
  ExpectRejected([](wire::Hello* hello) { hello->initial_credits = 1; }, RejectReason::kBadParameters);
  ExpectRejected([](wire::Hello* hello) { hello->read_depth = 0; }, RejectReason::kBadParameters);
  ExpectRejected([](wire::Hello* hello) { hello->epoch = 0; }, RejectReason::kBadParameters);
}

TEST_F(HostileHello, APeerThatVanishesAfterItsRequestLeavesNothing) {
  for (int i = 0; i < 20; ++i) {
    absl::StatusOr<std::unique_ptr<HostilePeer>> peer = HostilePeer::Open(address());
    ASSERT_TRUE(peer.ok()) << peer.status();
    ASSERT_TRUE((*peer)->RequestAndVanish().ok());
  }
}

// Offers what lets the server send frames of a gigabyte; it must not make room for them.
TEST_F(HostileHello, HugeNumbersAreTakenForWhatTheyAre) {
  absl::StatusOr<std::unique_ptr<HostilePeer>> peer = HostilePeer::Open(address());
  ASSERT_TRUE(peer.ok()) << peer.status();
  wire::Hello hello = *wire::DecodeHello((*peer)->ValidHello());
  hello.receive_buffer_bytes = 0xffffffff;
  hello.initial_credits = 0xffff;
  hello.read_depth = 0xffff;
  hello.features = 0xffffffff;
  hello.keepalive_ms = 0xffffffff;
  Bytes bytes(wire::kHelloBytes);
  wire::EncodeHello(hello, bytes.data());
  const absl::StatusOr<HostilePeer::Answer> answer = (*peer)->Offer(bytes);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_TRUE(answer->accepted);
  (*peer)->Send(FetchRequest(1, 1 << 20));  // Too long for a frame of the server's, whatever the peer says.
  (*peer)->Send(FetchRequest(2, 9000));
  EXPECT_TRUE((*peer)->Receive(wire::FrameType::kAnnounce).has_value());
}

}  // namespace
}  // namespace verbena::hostile
