#include "transport/wire/hello.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "transport/wire/frame_bytes.h"

namespace verbena::wire {
namespace {

using ::testing::HasSubstr;

Bytes HelloBytes(const Hello& hello) {
  Bytes bytes(kHelloBytes);
  EncodeHello(hello, bytes.data());
  return bytes;
}

Bytes RejectionBytes(const Rejection& rejection) {
  Bytes bytes(kRejectionBytes);
  EncodeRejection(rejection, bytes.data());
  return bytes;
}

TEST(Hello, EveryNumberComesBack) {
  const Hello hello{.version_min = 2,
                    .version_max = 9,
                    .initial_credits = 0xfffe,
                    .features = 0xfffffffd,
                    .receive_buffer_bytes = 0xfffffffc,
                    .read_depth = 0xfffb,
                    .keepalive_ms = 0xfffffffa,
                    .epoch = 0xfffffffffffffff9};
  const absl::StatusOr<Hello> decoded = DecodeHello(HelloBytes(hello));
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(decoded->version_min, hello.version_min);
  EXPECT_EQ(decoded->version_max, hello.version_max);
  EXPECT_EQ(decoded->initial_credits, hello.initial_credits);
  EXPECT_EQ(decoded->features, hello.features);
  EXPECT_EQ(decoded->receive_buffer_bytes, hello.receive_buffer_bytes);
  EXPECT_EQ(decoded->read_depth, hello.read_depth);
  EXPECT_EQ(decoded->keepalive_ms, hello.keepalive_ms);
  EXPECT_EQ(decoded->epoch, hello.epoch);
}

TEST(Hello, PaddingOfTheFabricIsIgnored) {
  Bytes bytes = HelloBytes({.epoch = 5});
  bytes.resize(kPrivateDataBytesMax);
  const absl::StatusOr<Hello> decoded = DecodeHello(bytes);
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(decoded->epoch, 5u);
}

TEST(Hello, WhatALaterVersionAddsIsIgnored) {
  Bytes bytes = HelloBytes({.epoch = 5});
  bytes[18] = bytes[39] = std::byte{0xff};
  bytes.resize(kPrivateDataBytesMax, std::byte{0xff});
  const absl::StatusOr<Hello> decoded = DecodeHello(bytes);
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(decoded->epoch, 5u);
}

TEST(Hello, TooShortIsRejectedInWords) {
  Bytes bytes = HelloBytes({});
  bytes.pop_back();
  EXPECT_EQ(DecodeHello(bytes).status().message(), "the private data is 39 bytes long; a hello has 40");
  EXPECT_FALSE(DecodeHello({}).ok());
}

TEST(Hello, AnotherProtocolIsRejectedInWords) {
  EXPECT_THAT(DecodeHello(Bytes(kHelloBytes)).status().message(), HasSubstr("no Verbena hello"));
  Bytes rejection = RejectionBytes({});
  rejection.resize(kHelloBytes);
  EXPECT_FALSE(DecodeHello(rejection).ok());
}

TEST(Hello, ImpossibleVersionRangeIsRejected) {
  EXPECT_FALSE(DecodeHello(HelloBytes({.version_min = 0, .version_max = 1})).ok());
  EXPECT_EQ(DecodeHello(HelloBytes({.version_min = 3, .version_max = 2})).status().message(),
            "a hello offers the impossible version range 3 to 2");
}

TEST(Rejection, ReasonAndVersionsComeBack) {
  const absl::StatusOr<Rejection> decoded =
      DecodeRejection(RejectionBytes({.reason = RejectReason::kShuttingDown, .version_min = 2, .version_max = 3}));
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(decoded->reason, RejectReason::kShuttingDown);
  EXPECT_EQ(decoded->version_min, 2);
  EXPECT_EQ(decoded->version_max, 3);
}

TEST(Rejection, UnknownReasonIsKept) {
  const absl::StatusOr<Rejection> decoded = DecodeRejection(RejectionBytes({.reason = static_cast<RejectReason>(999)}));
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(ToString(decoded->reason), "unknown reason");
}

TEST(Rejection, MalformedIsRejected) {
  EXPECT_FALSE(DecodeRejection({}).ok());
  EXPECT_FALSE(DecodeRejection(Bytes(kRejectionBytes)).ok());
  EXPECT_FALSE(DecodeRejection(RejectionBytes({.version_min = 2, .version_max = 1})).ok());
}

TEST(Rejection, EveryReasonHasWords) {
  for (int reason = 1; reason <= 8; ++reason) {
    EXPECT_NE(ToString(static_cast<RejectReason>(reason)), "unknown reason") << reason;
  }
}

}  // namespace
}  // namespace verbena::wire
