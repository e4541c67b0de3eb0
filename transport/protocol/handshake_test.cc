#include "transport/protocol/handshake.h"

#include <array>
#include <variant>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "transport/protocol/limits.h"

namespace verbena::protocol {
namespace {

HandshakeOptions Options() {
  HandshakeOptions options;
  options.receive_buffer_bytes = 8192;
  options.read_depth = 16;
  options.features = wire::kFeatureChecksum;
  return options;
}

std::array<std::byte, wire::kHelloBytes> BytesOf(const wire::Hello& hello) {
  std::array<std::byte, wire::kHelloBytes> bytes;
  wire::EncodeHello(hello, bytes.data());
  return bytes;
}

std::array<std::byte, wire::kRejectionBytes> BytesOf(const wire::Rejection& rejection) {
  std::array<std::byte, wire::kRejectionBytes> bytes;
  wire::EncodeRejection(rejection, bytes.data());
  return bytes;
}

const ClientHandshake kClient(Options(), /*initial_credits=*/8, /*epoch=*/42);

wire::Hello GoodAnswer() {
  const auto answer = ServerHandshake(Options()).OnOffer(BytesOf(kClient.offer()));
  return AnswerOf(std::get<Agreement>(answer), 5);
}

TEST(Handshake, BothSidesAgree) {
  const auto answer = ServerHandshake(Options()).OnOffer(BytesOf(kClient.offer()));
  const Agreement& server = std::get<Agreement>(answer);
  EXPECT_EQ(server.peers.initial_credits, 8);
  EXPECT_EQ(server.ours.epoch, 42u);
  EXPECT_EQ(server.features, wire::kFeatureChecksum);

  const absl::StatusOr<Agreement> client = kClient.OnAccepted(BytesOf(AnswerOf(server, 5)));
  ASSERT_TRUE(client.ok()) << client.status();
  EXPECT_EQ(client->peers.initial_credits, 5);
  EXPECT_EQ(client->version, server.version);
  EXPECT_EQ(client->features, wire::kFeatureChecksum);
}

TEST(Handshake, AFeatureThatOneSideLacksIsNotInForce) {
  HandshakeOptions plain = Options();
  plain.features = 0;
  const auto answer = ServerHandshake(plain).OnOffer(BytesOf(kClient.offer()));
  EXPECT_EQ(std::get<Agreement>(answer).features, 0u);
}

TEST(Handshake, WithoutACommonVersionTheServerRejectsAndSaysWhatItSpeaks) {
  HandshakeOptions later = Options();
  later.version_min = 2;
  later.version_max = 3;
  const auto answer = ServerHandshake(later).OnOffer(BytesOf(kClient.offer()));
  const wire::Rejection& rejection = std::get<wire::Rejection>(answer);
  EXPECT_EQ(rejection.reason, wire::RejectReason::kVersion);
  const absl::Status status = kClient.OnRejected(BytesOf(rejection));
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), testing::HasSubstr("2 to 3"));
}

TEST(Handshake, PrivateDataThatIsNoHelloIsRejectedAsMalformed) {
  const std::array<std::byte, 8> noise{};
  const auto answer = ServerHandshake(Options()).OnOffer(noise);
  EXPECT_EQ(std::get<wire::Rejection>(answer).reason, wire::RejectReason::kMalformed);
}

TEST(Handshake, ImpossibleNumbersAreRejected) {
  wire::Hello tiny = kClient.offer(), broke = kClient.offer(), blind = kClient.offer();
  tiny.receive_buffer_bytes = kReceiveBufferBytesMin - 1;
  broke.initial_credits = kCreditsPerConnectionMin - 1;
  blind.read_depth = 0;
  for (const wire::Hello& offer : {tiny, broke, blind}) {
    const auto answer = ServerHandshake(Options()).OnOffer(BytesOf(offer));
    ASSERT_TRUE(std::holds_alternative<wire::Rejection>(answer));
  }
}

TEST(Handshake, AnAnswerOfAnotherEpochIsNotBelieved) {
  wire::Hello answer = GoodAnswer();
  answer.epoch = 43;
  EXPECT_EQ(kClient.OnAccepted(BytesOf(answer)).status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST(Handshake, FeaturesThatWereNotOfferedAreNotBelieved) {
  HandshakeOptions plain = Options();
  plain.features = 0;
  const ClientHandshake client(plain, 8, 42);
  EXPECT_FALSE(client.OnAccepted(BytesOf(GoodAnswer())).ok());
}

HandshakeOptions Authenticating() {
  HandshakeOptions options = Options();
  options.features |= wire::kFeatureAuthentication;
  return options;
}

TEST(Handshake, AuthenticationThatBothWantIsInForce) {
  const ClientHandshake client(Authenticating(), 8, 42);
  const auto answer = ServerHandshake(Authenticating()).OnOffer(BytesOf(client.offer()));
  const Agreement& server = std::get<Agreement>(answer);
  EXPECT_EQ(server.features, wire::kFeatureChecksum | wire::kFeatureAuthentication);
  EXPECT_TRUE(client.OnAccepted(BytesOf(AnswerOf(server, 5))).ok());
}

TEST(Handshake, AServerThatAuthenticatesRejectsAClientThatDoesNot) {
  const auto answer = ServerHandshake(Authenticating()).OnOffer(BytesOf(kClient.offer()));
  EXPECT_EQ(std::get<wire::Rejection>(answer).reason, wire::RejectReason::kAuthenticationRequired);
}

TEST(Handshake, AClientThatAuthenticatesRefusesAServerThatDoesNot) {
  const ClientHandshake client(Authenticating(), 8, 42);
  const auto answer = ServerHandshake(Options()).OnOffer(BytesOf(client.offer()));
  const absl::Status status = client.OnAccepted(BytesOf(AnswerOf(std::get<Agreement>(answer), 5))).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnauthenticated) << status;
}

TEST(Handshake, ARejectionIsPutInWords) {
  const ServerHandshake server(Options());
  const struct {
    wire::RejectReason reason;
    absl::StatusCode code;
  } kCases[] = {{wire::RejectReason::kTooManyConnections, absl::StatusCode::kResourceExhausted},
                {wire::RejectReason::kNoMemory, absl::StatusCode::kResourceExhausted},
                {wire::RejectReason::kShuttingDown, absl::StatusCode::kUnavailable},
                {wire::RejectReason::kDevice, absl::StatusCode::kUnavailable},
                {wire::RejectReason::kAuthenticationRequired, absl::StatusCode::kUnauthenticated},
                {wire::RejectReason::kMalformed, absl::StatusCode::kFailedPrecondition}};
  for (const auto& c : kCases) {
    EXPECT_EQ(kClient.OnRejected(BytesOf(server.Reject(c.reason))).code(), c.code);
  }
  EXPECT_EQ(kClient.OnRejected({}).code(), absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace verbena::protocol
