// The call headers, byte by byte: testdata/*.hex is written by hand from docs/wire.md.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "rpc/core/call_header.h"
#include "rpc/core/load_field.h"
#include "rpc/core/metadata_codec.h"
#include "rpc/core/status_codec.h"
#include "rpc/core/test_bytes.h"
#include "tests/golden/hex_file.h"

namespace verbena::rpc {
namespace {

using ::testing::ElementsAre;

Bytes Golden(const std::string& name) {
  absl::StatusOr<Bytes> bytes = testing::ReadHexFile("rpc/core/testdata/" + name + ".hex");
  EXPECT_TRUE(bytes.ok()) << bytes.status();
  return bytes.ok() ? *bytes : Bytes();
}

TEST(CallHeaderGolden, RequestIsPinned) {
  const Bytes golden = Golden("request");
  const absl::StatusOr<RequestHeader> header = DecodeRequestHeader(golden, 100);
  ASSERT_TRUE(header.ok()) << header.status();
  EXPECT_EQ(header->method, "demo.Greeter/SayHello");
  EXPECT_EQ(header->timeout_ns, 50'000'000u);
  EXPECT_EQ(header->body_bytes, 9u);
  HeaderFieldReader reader(header->fields);
  const NamedValue metadata = ReadNamedValue(*reader.Next());
  EXPECT_EQ(metadata.name, "k");
  EXPECT_EQ(metadata.value, "v1");

  Bytes again(golden.size());
  ASSERT_TRUE(EncodeRequestHeader(*header, absl::MakeSpan(again)).ok());
  EXPECT_EQ(again, golden);
}

TEST(CallHeaderGolden, ResponseIsPinned) {
  const Bytes golden = Golden("response");
  const absl::StatusOr<ResponseHeader> header = DecodeResponseHeader(golden, 0);
  ASSERT_TRUE(header.ok()) << header.status();
  EXPECT_EQ(header->code, absl::StatusCode::kNotFound);
  EXPECT_EQ(header->certainty, Certainty::kExecuted);
  EXPECT_EQ(header->message, "no such x");
  EXPECT_EQ(header->body_bytes, 0u);
  HeaderFieldReader reader(header->fields);
  const NamedValue detail = ReadNamedValue(*reader.Next());
  EXPECT_EQ(detail.name, "example/detail");
  EXPECT_EQ(detail.value, "abc");
  EXPECT_EQ(ReadCount(*reader.Next()), 1u);

  Bytes again(golden.size());
  ASSERT_TRUE(EncodeResponseHeader(*header, absl::MakeSpan(again)).ok());
  EXPECT_EQ(again, golden);
}

TEST(CallHeaderGolden, RequestMetadataIsPinned) {
  const Bytes golden = Golden("request_metadata");
  const absl::StatusOr<RequestHeader> header = DecodeRequestHeader(golden, 9);
  ASSERT_TRUE(header.ok()) << header.status();
  Metadata metadata;
  ReadMetadata(header->fields, HeaderFieldType::kMetadata, &metadata);
  EXPECT_THAT(metadata, ElementsAre(Metadata::Entry{"user", "ada"}, Metadata::Entry{"t-bin", std::string("\0\xff", 2)},
                                    Metadata::Entry{"user", ""}));

  Bytes again(golden.size());
  ASSERT_TRUE(EncodeRequest({header->method, 0, 9, {}}, metadata, absl::MakeSpan(again)).ok());
  EXPECT_EQ(again, golden);
}

TEST(CallHeaderGolden, ResponseMetadataIsPinned) {
  const Bytes golden = Golden("response_metadata");
  const absl::StatusOr<ResponseHeader> header = DecodeResponseHeader(golden, 3);
  ASSERT_TRUE(header.ok()) << header.status();
  EXPECT_EQ(header->code, absl::StatusCode::kAborted);
  ResponseMetadata metadata;
  DecodeMetadata(*header, &metadata);
  EXPECT_THAT(metadata.initial, ElementsAre(Metadata::Entry{"a", "1"}));
  EXPECT_THAT(metadata.trailing, ElementsAre(Metadata::Entry{"b-bin", std::string("\0", 1)}));

  Bytes again(golden.size() + kResponseHeaderRoomMin);
  again.resize(EncodeStatus(DecodeStatus(*header), 0, absl::MakeSpan(again), metadata));
  EXPECT_EQ(again, golden);
}

TEST(CallHeaderGolden, ResponseLoadIsPinned) {
  const Bytes golden = Golden("response_load");
  const absl::StatusOr<ResponseHeader> header = DecodeResponseHeader(golden, 3);
  ASSERT_TRUE(header.ok()) << header.status();
  EXPECT_EQ(ReadLoad(header->fields), 0.5);

  Bytes again(golden.size());
  const size_t size =
      *EncodeResponseHeader({absl::StatusCode::kOk, Certainty::kExecuted, "", 3, {}}, absl::MakeSpan(again));
  AppendLoad(0.5, absl::MakeSpan(again).subspan(size));
  EXPECT_EQ(again, golden);
}

}  // namespace
}  // namespace verbena::rpc
