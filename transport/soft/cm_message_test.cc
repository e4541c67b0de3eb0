#include "transport/soft/cm_message.h"

#include <algorithm>
#include <cstring>
#include <random>

#include "gtest/gtest.h"

namespace verbena::soft {
namespace {

// Offsets of fields in the header (cm_message.cc), to forge them.
constexpr size_t kVersionAt = 4;
constexpr size_t kTypeAt = 5;
constexpr size_t kPrivateDataLengthAt = 7;
constexpr size_t kOfferLengthAt = 8;
constexpr size_t kRnrRetryCountAt = 14;
constexpr size_t kSourceFamilyAt = 24;

CmMessage Request() {
  CmMessage message;
  message.type = MessageType::kRequest;
  message.parameters = {1, 2, 1, 5, 7, 1, 0x12345678};
  message.source = SocketAddress::Wildcard(AF_INET, 4000).AsDestination();
  message.destination = SocketAddress::Wildcard(AF_INET6, 5000).AsDestination();
  message.private_data.length = kRequestPrivateDataMax;
  message.private_data.bytes.fill(std::byte{0xab});
  message.offer.assign(kLinkOfferBytesMax, std::byte{0xcd});
  return message;
}

std::vector<std::byte> Forged(size_t at, uint8_t value) {
  std::vector<std::byte> bytes = EncodeMessage(Request());
  bytes[at] = std::byte{value};
  return bytes;
}

TEST(CmMessage, RequestComesBackAsItWas) {
  CmMessage sent = Request();
  absl::StatusOr<CmMessage> received = DecodeMessage(EncodeMessage(sent));
  ASSERT_TRUE(received.ok()) << received.status();
  EXPECT_EQ(received->type, MessageType::kRequest);
  EXPECT_EQ(memcmp(&received->parameters, &sent.parameters, sizeof(sent.parameters)), 0);
  EXPECT_TRUE(received->source.SameHost(sent.source));
  EXPECT_EQ(received->source.port, 4000);
  EXPECT_TRUE(received->destination.SameHost(sent.destination));
  EXPECT_EQ(received->destination.port, 5000);
  EXPECT_TRUE(received->private_data.span() == sent.private_data.span());
  EXPECT_EQ(received->offer, sent.offer);
}

TEST(CmMessage, RejectCarriesReasonAndPrivateData) {
  CmMessage sent;
  sent.type = MessageType::kReject;
  sent.reject_reason = kRejectConsumer;
  sent.private_data.length = kRejectPrivateDataMax;
  absl::StatusOr<CmMessage> received = DecodeMessage(EncodeMessage(sent));
  ASSERT_TRUE(received.ok()) << received.status();
  EXPECT_EQ(received->reject_reason, kRejectConsumer);
  EXPECT_EQ(received->private_data.length, kRejectPrivateDataMax);
}

TEST(CmMessage, EveryTruncationIsRefused) {
  std::vector<std::byte> bytes = EncodeMessage(Request());
  for (size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_FALSE(DecodeMessage(absl::MakeConstSpan(bytes.data(), length)).ok()) << length;
  }
}

TEST(CmMessage, BytesAfterTheEndAreRefused) {
  std::vector<std::byte> bytes = EncodeMessage(Request());
  bytes.push_back(std::byte{0});
  EXPECT_FALSE(DecodeMessage(bytes).ok());
}

TEST(CmMessage, ForgedFieldsAreRefused) {
  EXPECT_FALSE(DecodeMessage(Forged(0, 0)).ok()) << "magic";
  EXPECT_FALSE(DecodeMessage(Forged(kVersionAt, 9)).ok()) << "version";
  EXPECT_FALSE(DecodeMessage(Forged(kTypeAt, 0)).ok()) << "type below";
  EXPECT_FALSE(DecodeMessage(Forged(kTypeAt, 5)).ok()) << "type above";
  EXPECT_FALSE(DecodeMessage(Forged(kPrivateDataLengthAt, 255)).ok()) << "private data";
  EXPECT_FALSE(DecodeMessage(Forged(kOfferLengthAt, 255)).ok()) << "offer";
  EXPECT_FALSE(DecodeMessage(Forged(kRnrRetryCountAt, 8)).ok()) << "retries";
  EXPECT_FALSE(DecodeMessage(Forged(kSourceFamilyAt, AF_UNIX)).ok()) << "family";
}

TEST(CmMessage, OfferInTypeWithoutOneIsRefused) {
  EXPECT_FALSE(DecodeMessage(Forged(kTypeAt, static_cast<uint8_t>(MessageType::kReadyToUse))).ok());
  EXPECT_FALSE(DecodeMessage(Forged(kTypeAt, static_cast<uint8_t>(MessageType::kReject))).ok());
}

// Whatever decodes keeps every bound; nothing is read past the end (sanitizers).
TEST(CmMessage, RandomBytesNeverDecodeBeyondBounds) {
  std::minstd_rand random(1);
  for (int i = 0; i < 20000; ++i) {
    std::vector<std::byte> bytes = EncodeMessage(Request());
    for (int flips = 0; flips < 4; ++flips) bytes[random() % 72] = std::byte(random() & 0xff);
    bytes.resize(random() % (bytes.size() + 1) < 72 ? random() % 73 : bytes.size());
    absl::StatusOr<CmMessage> message = DecodeMessage(bytes);
    if (!message.ok()) continue;
    EXPECT_LE(message->private_data.length, PrivateDataMax(message->type));
    EXPECT_LE(message->offer.size(), kLinkOfferBytesMax);
  }
}

}  // namespace
}  // namespace verbena::soft
