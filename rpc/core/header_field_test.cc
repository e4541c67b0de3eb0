#include "rpc/core/header_field.h"

#include <gtest/gtest.h>

#include <string>

#include "rpc/core/metadata.h"
#include "rpc/core/test_bytes.h"

namespace verbena::rpc {
namespace {

TEST(HeaderField, NamedValuesAndCountsComeBack) {
  Bytes room(100);
  HeaderFieldWriter writer(absl::MakeSpan(room));
  absl::Cord value("in ");
  value.Append(absl::Cord(std::string(20, 'x')));
  ASSERT_TRUE(writer.AppendNamedValue(HeaderFieldType::kMetadata, "name", value));
  ASSERT_TRUE(writer.AppendCount(HeaderFieldType::kDetailsLeftOut, 77));
  const absl::Span<const std::byte> fields = absl::MakeConstSpan(room).first(writer.size());
  ASSERT_TRUE(CheckHeaderFields(fields).ok());

  HeaderFieldReader reader(fields);
  const NamedValue named = ReadNamedValue(*reader.Next());
  EXPECT_EQ(named.name, "name");
  EXPECT_EQ(named.value, "in " + std::string(20, 'x'));
  EXPECT_EQ(ReadCount(*reader.Next()), 77u);
  EXPECT_FALSE(reader.Next().has_value());
}

TEST(HeaderField, ThatDoesNotFitIsNotWritten) {
  Bytes room(9);
  HeaderFieldWriter writer(absl::MakeSpan(room));
  EXPECT_FALSE(writer.AppendNamedValue(HeaderFieldType::kMetadata, "name", absl::Cord()));
  EXPECT_EQ(writer.size(), 0u);
  EXPECT_TRUE(writer.AppendNamedValue(HeaderFieldType::kMetadata, "n", absl::Cord("vv")));
  EXPECT_EQ(writer.size(), 9u);
  EXPECT_FALSE(writer.AppendCount(HeaderFieldType::kDetailsLeftOut, 1));
}

TEST(HeaderField, LongerThanItsLengthCanSayIsNotWritten) {
  Bytes room(0x20000);
  HeaderFieldWriter writer(absl::MakeSpan(room));
  EXPECT_FALSE(writer.AppendNamedValue(HeaderFieldType::kMetadata, "n", absl::Cord(std::string(0xfffd, 'v'))));
  EXPECT_FALSE(writer.AppendNamedValue(HeaderFieldType::kMetadata, std::string(0x10000, 'n'), absl::Cord()));
  EXPECT_TRUE(writer.AppendNamedValue(HeaderFieldType::kMetadata, "n", absl::Cord(std::string(0xfffc, 'v'))));
}

TEST(HeaderField, EmptyNameIsNotWritten) {
  Bytes room(100);
  HeaderFieldWriter writer(absl::MakeSpan(room));
  EXPECT_FALSE(writer.AppendNamedValue(HeaderFieldType::kMetadata, "", absl::Cord("v")));
}

TEST(HeaderField, CutListIsRejected) {
  Bytes room(20);
  HeaderFieldWriter writer(absl::MakeSpan(room));
  ASSERT_TRUE(writer.AppendNamedValue(HeaderFieldType::kMetadata, "name", absl::Cord("value")));
  for (size_t length = 1; length < writer.size(); ++length) {
    EXPECT_FALSE(CheckHeaderFields(absl::MakeConstSpan(room).first(length)).ok()) << length;
  }
}

TEST(HeaderField, KnownTypesOfAnotherFormAreRejected) {
  const auto check = [](absl::string_view text) { return std::string(CheckHeaderFields(BytesOf(text)).message()); };
  EXPECT_EQ(check(absl::string_view("\x02\x00\x01\x00x", 5)), "a header field is too short to hold a name");
  EXPECT_EQ(check(absl::string_view("\x01\x00\x02\x00\x00\x00", 6)), "a header field has an empty name");
  EXPECT_EQ(check(absl::string_view("\x01\x00\x03\x00\x02\x00n", 7)),
            "a header field's name of 2 bytes does not fit the field of 3 bytes");
  EXPECT_EQ(check(absl::string_view("\x03\x00\x01\x00x", 5)), "a header field that holds a count is 1 bytes long");
}

// A field of this type and with this name and value, whatever they are.
std::string NamedField(HeaderFieldType type, absl::string_view name, absl::string_view value) {
  Bytes room(0x10000);
  HeaderFieldWriter writer(absl::MakeSpan(room));
  EXPECT_TRUE(writer.AppendNamedValue(type, name, value));
  return std::string(reinterpret_cast<const char*>(room.data()), writer.size());
}

TEST(HeaderField, MetadataThatBreaksARuleIsRejectedInItsWords) {
  for (const HeaderFieldType type : {HeaderFieldType::kMetadata, HeaderFieldType::kInitialMetadata}) {
    const auto check = [type](absl::string_view name, absl::string_view value) {
      return std::string(CheckHeaderFields(BytesOf(NamedField(type, name, value))).message());
    };
    EXPECT_EQ(check("Key", "v"), "the metadata key \"Key\" has upper case letters; keys are lower case");
    EXPECT_EQ(check("grpc-status", "0"),
              "the metadata key \"grpc-status\" is reserved, as all that begin with \"grpc-\"");
    EXPECT_EQ(check("key", "v\n"),
              "the metadata key \"key\" has a value that is not printable ASCII; only keys that end in \"-bin\" take "
              "any bytes");
    EXPECT_EQ(check("key-bin", "v\n"), "");
  }
  EXPECT_TRUE(CheckHeaderFields(BytesOf(NamedField(HeaderFieldType::kStatusDetail, "Type.Url", "\n"))).ok());
}

TEST(HeaderField, MetadataBeyondTheLimitOfAListIsRejected) {
  const std::string half = NamedField(HeaderFieldType::kMetadata, "k", std::string(kMetadataBytesMax / 2 - 7, 'v'));
  const std::string initial = NamedField(HeaderFieldType::kInitialMetadata, "k", std::string(5000, 'v'));
  EXPECT_TRUE(CheckHeaderFields(BytesOf(half + initial + half)).ok());
  const std::string one_more = NamedField(HeaderFieldType::kMetadata, "k", "");
  EXPECT_EQ(CheckHeaderFields(BytesOf(half + initial + half + one_more)).message(),
            "a header has more metadata than the 8192 bytes of a list's limit");
}

TEST(HeaderField, UnknownTypesMayHoldAnything) {
  EXPECT_TRUE(CheckHeaderFields(BytesOf(absl::string_view("\xff\xff\x01\x00x", 5))).ok());
}

}  // namespace
}  // namespace verbena::rpc
