#include "rpc/core/stream_header.h"

#include <gtest/gtest.h>

#include "rpc/core/header_field.h"
#include "rpc/core/test_bytes.h"
#include "tests/golden/hex_file.h"

namespace verbena::rpc {
namespace {

TEST(StreamHeader, IsPinned) {
  const absl::StatusOr<Bytes> golden = testing::ReadHexFile("rpc/core/testdata/stream.hex");
  ASSERT_TRUE(golden.ok()) << golden.status();
  const absl::StatusOr<StreamHeader> header = DecodeStreamHeader(*golden);
  ASSERT_TRUE(header.ok()) << header.status();
  EXPECT_EQ(header->number, 7u);
  EXPECT_EQ(header->value, 0x0102030405060708u);

  Bytes again(kStreamHeaderBytes);
  EncodeStreamHeader(*header, again.data());
  EXPECT_EQ(again, *golden);
}

TEST(StreamHeader, TooShortOrWithoutWholeFieldsIsRefused) {
  Bytes bytes(kStreamHeaderBytes + 1);
  EncodeStreamHeader({1, 2}, bytes.data());
  EXPECT_TRUE(absl::IsInvalidArgument(DecodeStreamHeader(bytes).status()));
  EXPECT_EQ(DecodeStreamHeader(absl::MakeSpan(bytes).first(23)).status().message(),
            "a stream header is 23 bytes long; it takes 24");
  EXPECT_TRUE(absl::IsInvalidArgument(DecodeStreamHeader({}).status()));
}

TEST(StreamHeader, CarriesFields) {
  Bytes bytes(kStreamHeaderBytes + 100);
  EncodeStreamHeader({1, 2}, bytes.data());
  HeaderFieldWriter fields(absl::MakeSpan(bytes).subspan(kStreamHeaderBytes));
  ASSERT_TRUE(fields.AppendNamedValue(HeaderFieldType::kInitialMetadata, "color", absl::string_view("red")));
  bytes.resize(kStreamHeaderBytes + fields.size());
  const absl::StatusOr<StreamHeader> header = DecodeStreamHeader(bytes);
  ASSERT_TRUE(header.ok()) << header.status();
  HeaderFieldReader reader(header->fields);
  EXPECT_EQ(ReadNamedValue(*reader.Next()).value, "red");
}

TEST(StreamHeader, OfAnotherVersionIsRefused) {
  Bytes bytes(kStreamHeaderBytes);
  EncodeStreamHeader({1, 2}, bytes.data());
  bytes[0] = std::byte{9};
  EXPECT_EQ(DecodeStreamHeader(bytes).status().message(), "a stream header has version 9; this side speaks 1");
}

TEST(StreamHeader, WithReservedBitsIsRefused) {
  for (size_t at = 1; at < 8; ++at) {
    Bytes bytes(kStreamHeaderBytes);
    EncodeStreamHeader({1, 2}, bytes.data());
    bytes[at] = std::byte{0x80};
    EXPECT_EQ(DecodeStreamHeader(bytes).status().message(), "a stream header has reserved bits set") << at;
  }
}

}  // namespace
}  // namespace verbena::rpc
