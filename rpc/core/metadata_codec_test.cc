#include "rpc/core/metadata_codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "rpc/core/status_codec.h"
#include "rpc/core/test_bytes.h"

namespace verbena::rpc {
namespace {

using ::testing::HasSubstr;

Metadata Of(std::initializer_list<Metadata::Entry> entries) {
  Metadata metadata;
  for (const Metadata::Entry& entry : entries) EXPECT_TRUE(metadata.Add(entry.key, entry.value).ok());
  return metadata;
}

// One entry; `bytes` of it.
Metadata OfBytes(size_t bytes) { return Of({{"key", std::string(bytes - 3 - kMetadataEntryOverheadBytes, 'v')}}); }

constexpr absl::string_view kMethod = "demo.Greeter/SayHello";
constexpr size_t kBesideMetadata = kRequestHeaderFixedBytes + kMethod.size();

absl::StatusOr<size_t> EncodeInto(Bytes& room, const Metadata& metadata) {
  return EncodeRequest({kMethod, 50, 10, {}}, metadata, absl::MakeSpan(room));
}

TEST(RequestMetadata, ComesBackInOrderWithItsRequest) {
  const Metadata sent = Of({{"b", "1"}, {"a-bin", std::string("\0\xff", 2)}, {"b", ""}});
  Bytes room(1000);
  const absl::StatusOr<size_t> size = EncodeInto(room, sent);
  ASSERT_TRUE(size.ok()) << size.status();
  EXPECT_EQ(*size, kBesideMetadata + sent.bytes());
  const absl::StatusOr<RequestHeader> header = DecodeRequestHeader(absl::MakeConstSpan(room).first(*size), 10);
  ASSERT_TRUE(header.ok()) << header.status();
  EXPECT_EQ(header->method, kMethod);
  EXPECT_EQ(header->timeout_ns, 50u);
  Metadata arrived;
  ReadMetadata(header->fields, HeaderFieldType::kMetadata, &arrived);
  EXPECT_EQ(arrived, sent);
}

TEST(RequestMetadata, MayBeAsLongAsTheRoomAndNoLonger) {
  Bytes room(1000);
  EXPECT_TRUE(EncodeInto(room, OfBytes(1000 - kBesideMetadata)).ok());
  const absl::Status status = EncodeInto(room, OfBytes(1001 - kBesideMetadata)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("takes 956 bytes; the connection's header has room for 955"));
}

TEST(RequestMetadata, MayBeAsLongAsKMetadataBytesMaxAndNoLonger) {
  Bytes room(kRequestHeaderRoomMax + 1000);
  EXPECT_TRUE(EncodeInto(room, OfBytes(kMetadataBytesMax)).ok());
  const absl::Status status = EncodeInto(room, OfBytes(kMetadataBytesMax + 1)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()), HasSubstr("takes 8193 bytes; at most kMetadataBytesMax = 8192"));
}

TEST(RequestMetadata, FindsNoRoomWhereTheMethodHasNone) {
  Bytes room(10);
  EXPECT_EQ(EncodeInto(room, OfBytes(20)).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(EncodeInto(room, Metadata()).status().code(), absl::StatusCode::kResourceExhausted);
}

// What arrives at the other side of a header with `room` bytes.
struct Arrived {
  absl::Status status;
  ResponseMetadata metadata;
};
Arrived Transferred(const absl::Status& status, const ResponseMetadata& metadata, size_t room = 8000) {
  Bytes bytes(room);
  bytes.resize(EncodeStatus(status, 0, absl::MakeSpan(bytes), metadata));
  const absl::StatusOr<ResponseHeader> header = DecodeResponseHeader(bytes, 0);
  EXPECT_TRUE(header.ok()) << header.status();
  Arrived arrived{DecodeStatus(*header), {}};
  DecodeMetadata(*header, &arrived.metadata);
  return arrived;
}

TEST(ResponseMetadata, ListsComeBackApart) {
  const ResponseMetadata sent{Of({{"a", "1"}, {"b", "2"}}), Of({{"a", "3"}})};
  for (const absl::Status& status : {absl::OkStatus(), absl::NotFoundError("words")}) {
    const Arrived arrived = Transferred(status, sent);
    EXPECT_EQ(arrived.status.code(), status.code());
    EXPECT_EQ(arrived.metadata.initial, sent.initial);
    EXPECT_EQ(arrived.metadata.trailing, sent.trailing);
  }
}

TEST(ResponseMetadata, LeavesDetailsWhatRoomThereIs) {
  absl::Status status = absl::InternalError("words");
  status.SetPayload("example/a", absl::Cord(std::string(500, 'd')));
  SetCertainty(&status, Certainty::kExecuted);
  EXPECT_EQ(Transferred(status, {OfBytes(300), {}}, 1000).status, status);
  const Arrived crowded = Transferred(status, {OfBytes(600), {}}, 1000);
  EXPECT_EQ(crowded.status.message(), "words [1 status details left out]");
  EXPECT_EQ(crowded.metadata.initial.bytes(), 600u);
}

TEST(ResponseMetadata, LeavesTheMessageTheLeastRoomAtLeast) {
  const absl::Status status = absl::InternalError(std::string(10000, 'x'));
  const Arrived arrived = Transferred(status, {{}, OfBytes(1000 - kResponseHeaderRoomMin)}, 1000);
  EXPECT_EQ(arrived.status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(arrived.status.message()), HasSubstr("xxx... [cut]"));
  EXPECT_EQ(arrived.metadata.trailing.bytes(), 1000 - kResponseHeaderRoomMin);
}

TEST(ResponseMetadata, SharesTheRoomBeyondTheLeastThatAStatusNeeds) {
  const size_t room = kResponseHeaderRoomMin + 500;
  EXPECT_TRUE(CheckMetadataRoom({OfBytes(200), OfBytes(300)}, room).ok());
  EXPECT_THAT(std::string(CheckMetadataRoom({OfBytes(200), OfBytes(301)}, room).message()),
              HasSubstr("trailing metadata takes 301 bytes; the connection's header has room for 300"));
  EXPECT_THAT(std::string(CheckMetadataRoom({OfBytes(501), {}}, room).message()),
              HasSubstr("initial metadata takes 501 bytes; the connection's header has room for 500"));
}

TEST(ResponseMetadata, MayBeKMetadataBytesMaxForEachList) {
  EXPECT_TRUE(CheckMetadataRoom({OfBytes(kMetadataBytesMax), OfBytes(kMetadataBytesMax)}, kResponseHeaderRoomMax).ok());
  for (const ResponseMetadata& too_long :
       {ResponseMetadata{OfBytes(kMetadataBytesMax + 1), {}}, ResponseMetadata{{}, OfBytes(kMetadataBytesMax + 1)}}) {
    EXPECT_EQ(CheckMetadataRoom(too_long, 100000).code(), absl::StatusCode::kResourceExhausted);
  }
}

}  // namespace
}  // namespace verbena::rpc
