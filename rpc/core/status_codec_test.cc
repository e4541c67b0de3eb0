#include "rpc/core/status_codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/match.h"
#include "rpc/core/certainty.h"
#include "rpc/core/test_bytes.h"

namespace verbena::rpc {
namespace {

using ::testing::HasSubstr;

// What arrives at the other side through a header of `room` bytes.
absl::Status Transferred(const absl::Status& status, size_t room = 8000) {
  Bytes bytes(room);
  bytes.resize(EncodeStatus(status, 0, absl::MakeSpan(bytes)));
  const absl::StatusOr<ResponseHeader> header = DecodeResponseHeader(bytes, 0);
  EXPECT_TRUE(header.ok()) << header.status();
  return header.ok() ? DecodeStatus(*header) : header.status();
}

TEST(StatusCodec, OkIsShort) {
  Bytes room(kResponseHeaderRoomMin);
  EXPECT_EQ(EncodeStatus(absl::OkStatus(), 0, absl::MakeSpan(room)), kResponseHeaderFixedBytes);
  EXPECT_TRUE(Transferred(absl::OkStatus()).ok());
}

TEST(StatusCodec, EveryCodeComesBack) {
  for (int code = 1; code <= 16; ++code) {
    const absl::Status status(static_cast<absl::StatusCode>(code), "words");
    EXPECT_EQ(Transferred(status).code(), status.code());
    EXPECT_EQ(Transferred(status).message(), "words");
  }
}

TEST(StatusCodec, CertaintyComesBack) {
  for (Certainty certainty : {Certainty::kNotSent, Certainty::kOutcomeUnknown, Certainty::kExecuted}) {
    absl::Status status = absl::InternalError("words");
    SetCertainty(&status, certainty);
    EXPECT_EQ(Transferred(status), status);
  }
}

TEST(StatusCodec, PayloadsComeBack) {
  absl::Status status = absl::InternalError("words");
  status.SetPayload("example/a", absl::Cord(std::string("\0binary\xff", 8)));
  status.SetPayload("example/b", absl::Cord());
  SetCertainty(&status, Certainty::kExecuted);
  EXPECT_EQ(Transferred(status), status);
}

TEST(StatusCodec, LongMessageIsCutAndMarked) {
  const absl::Status sent = absl::InternalError(std::string(10000, 'x'));
  const absl::Status whole_room = Transferred(sent);
  EXPECT_EQ(whole_room.message().size(), kStatusMessageBytesMax);
  EXPECT_TRUE(absl::EndsWith(whole_room.message(), "xxx... [cut]"));
  const absl::Status least_room = Transferred(sent, kResponseHeaderRoomMin);
  EXPECT_TRUE(absl::EndsWith(least_room.message(), "xxx... [cut]"));
  EXPECT_EQ(least_room.code(), absl::StatusCode::kInternal);
}

TEST(StatusCodec, LongMessageIsNotCutWithinACharacter) {
  std::string euros;
  for (int i = 0; i < 1000; ++i) euros += "\xe2\x82\xac";
  for (size_t room = kResponseHeaderRoomMin; room < kResponseHeaderRoomMin + 3; ++room) {
    const std::string message(Transferred(absl::InternalError(euros), room).message());
    const size_t mark = message.find("...");
    ASSERT_NE(mark, std::string::npos);
    EXPECT_EQ(mark % 3, 0u);
    EXPECT_GT(mark, 80u);
  }
}

TEST(StatusCodec, MessageOfStrayContinuationBytesIsStillCut) {
  const absl::Status sent = absl::InternalError(std::string(10000, '\x80'));
  EXPECT_THAT(std::string(Transferred(sent).message()), HasSubstr("... [cut]"));
}

TEST(StatusCodec, PayloadsWithoutRoomAreCounted) {
  absl::Status status = absl::InternalError("words");
  status.SetPayload("example/small", absl::Cord("s"));
  status.SetPayload("example/large", absl::Cord(std::string(70000, 'l')));
  status.SetPayload("example/larger", absl::Cord(std::string(80000, 'l')));
  const absl::Status arrived = Transferred(status);
  EXPECT_EQ(arrived.message(), "words [2 status details left out]");
  EXPECT_TRUE(arrived.GetPayload("example/small").has_value());
  EXPECT_FALSE(arrived.GetPayload("example/large").has_value());
}

TEST(StatusCodec, CutMessageLeavesRoomForTheCount) {
  absl::Status status = absl::InternalError(std::string(10000, 'x'));
  status.SetPayload("example/a", absl::Cord("a"));
  const absl::Status arrived = Transferred(status, kResponseHeaderRoomMin);
  EXPECT_TRUE(absl::EndsWith(arrived.message(), "... [cut] [1 status details left out]"));
}

TEST(StatusCodec, ForgedCertaintyDetailDoesNotOverrideTheHeader) {
  Bytes fields(100);
  HeaderFieldWriter writer(absl::MakeSpan(fields));
  ASSERT_TRUE(writer.AppendNamedValue(HeaderFieldType::kStatusDetail, kCertaintyTypeUrl, absl::Cord("not sent")));
  fields.resize(writer.size());
  const ResponseHeader header{absl::StatusCode::kInternal, Certainty::kExecuted, "words", 0, fields};
  EXPECT_EQ(GetCertainty(DecodeStatus(header)), Certainty::kExecuted);
}

TEST(Certainty, OfOkIsExecuted) {
  absl::Status ok;
  SetCertainty(&ok, Certainty::kNotSent);
  EXPECT_EQ(GetCertainty(ok), Certainty::kExecuted);
}

TEST(Certainty, OfAStatusWithoutOneIsUnknown) {
  EXPECT_EQ(GetCertainty(absl::InternalError("")), Certainty::kOutcomeUnknown);
  absl::Status status = absl::InternalError("");
  status.SetPayload(kCertaintyTypeUrl, absl::Cord("perhaps"));
  EXPECT_EQ(GetCertainty(status), Certainty::kOutcomeUnknown);
}

TEST(Certainty, LastOneSetCounts) {
  absl::Status status = absl::InternalError("");
  SetCertainty(&status, Certainty::kExecuted);
  SetCertainty(&status, Certainty::kNotSent);
  EXPECT_EQ(GetCertainty(status), Certainty::kNotSent);
}

}  // namespace
}  // namespace verbena::rpc
