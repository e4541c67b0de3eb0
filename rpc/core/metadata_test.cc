#include "rpc/core/metadata.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace verbena {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// What Add says; empty: it takes the entry.
std::string Refusal(absl::string_view key, absl::string_view value = "v") {
  Metadata metadata;
  const absl::Status status = metadata.Add(key, value);
  EXPECT_EQ(metadata.size(), status.ok() ? 1u : 0u);
  EXPECT_TRUE(status.ok() || absl::IsInvalidArgument(status)) << status;
  return std::string(status.message());
}

TEST(Metadata, KeepsOrderAndRepeatedKeys) {
  Metadata metadata;
  ASSERT_TRUE(metadata.Add("b", "1").ok());
  ASSERT_TRUE(metadata.Add("a", "2").ok());
  ASSERT_TRUE(metadata.Add("b", "3").ok());
  EXPECT_THAT(metadata, ElementsAre(Metadata::Entry{"b", "1"}, Metadata::Entry{"a", "2"}, Metadata::Entry{"b", "3"}));
  EXPECT_EQ(metadata.Find("b"), "1");
  EXPECT_THAT(metadata.FindAll("b"), ElementsAre("1", "3"));
}

TEST(Metadata, FindsNothingWhereThereIsNothing) {
  Metadata metadata;
  ASSERT_TRUE(metadata.Add("key", "").ok());
  EXPECT_EQ(metadata.Find("ke"), std::nullopt);
  EXPECT_THAT(metadata.FindAll("keyy"), IsEmpty());
  EXPECT_EQ(metadata.Find("key"), "");
}

TEST(Metadata, CountsKeysValuesAndOverhead) {
  Metadata metadata;
  EXPECT_EQ(metadata.bytes(), 0u);
  ASSERT_TRUE(metadata.Add("key", "value").ok());
  ASSERT_TRUE(metadata.Add("k", "").ok());
  EXPECT_EQ(metadata.bytes(), 8 + 1 + 2 * kMetadataEntryOverheadBytes);
}

TEST(Metadata, IsEmptyAfterClear) {
  Metadata metadata;
  ASSERT_TRUE(metadata.Add("key", "value").ok());
  metadata.Clear();
  EXPECT_TRUE(metadata.empty());
  EXPECT_EQ(metadata.bytes(), 0u);
  EXPECT_EQ(metadata, Metadata());
}

TEST(Metadata, IsEmptyWhereItWasMovedFrom) {
  Metadata metadata;
  ASSERT_TRUE(metadata.Add("key", "a value that is longer than a short string").ok());
  const Metadata moved = std::move(metadata);
  EXPECT_EQ(moved.size(), 1u);
  EXPECT_TRUE(metadata.empty());
  EXPECT_EQ(metadata.size(), 0u);
}

TEST(Metadata, TakesWhatStandsInItself) {
  Metadata metadata;
  ASSERT_TRUE(metadata.Add("k", "v").ok());
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(metadata.Add((*metadata.begin()).key, *metadata.Find("k")).ok());
  EXPECT_THAT(metadata.FindAll("k"), Each("v"));
  EXPECT_EQ(metadata.size(), 101u);
}

TEST(Metadata, TakesEveryCharacterOfAKeyAndNoOther) {
  for (int byte = 0; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    const bool good = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '_' || c == '.' || c == '-';
    EXPECT_EQ(Refusal(std::string("k") + c).empty(), good) << byte;
  }
}

TEST(Metadata, TakesPrintableValuesAndNoOthers) {
  for (int byte = 0; byte < 256; ++byte) {
    const std::string value = std::string("v") + static_cast<char>(byte) + "v";
    EXPECT_EQ(Refusal("key", value).empty(), byte >= 0x20 && byte <= 0x7e) << byte;
    EXPECT_EQ(Refusal("key-bin", value), "");
  }
}

TEST(Metadata, SaysWhichRuleAKeyBreaks) {
  EXPECT_EQ(Refusal(""), "the metadata key \"\" is empty");
  EXPECT_EQ(Refusal("User-Id"), "the metadata key \"User-Id\" has upper case letters; keys are lower case");
  EXPECT_EQ(Refusal("a\nb"), "the metadata key \"a\\nb\" has other characters than 0-9 a-z _ . -");
  EXPECT_EQ(Refusal("grpc-timeout"), "the metadata key \"grpc-timeout\" is reserved, as all that begin with \"grpc-\"");
  EXPECT_THAT(Refusal("verbena-x"), HasSubstr("is reserved"));
  EXPECT_EQ(Refusal("grpc"), "");
}

TEST(Metadata, SaysWhichRuleAValueBreaks) {
  EXPECT_THAT(Refusal("token", "a\tb"), HasSubstr("\"token\" has a value that is not printable ASCII"));
  for (const char* value : {" v", "v ", " "}) {
    EXPECT_EQ(Refusal("token", value), "the metadata key \"token\" has a value that begins or ends with a space");
  }
}

TEST(Metadata, LongestKeyIsKMetadataKeyBytesMax) {
  EXPECT_EQ(Refusal(std::string(kMetadataKeyBytesMax, 'k')), "");
  EXPECT_EQ(Refusal(std::string(kMetadataKeyBytesMax + 1, 'k')),
            "the metadata key \"" + std::string(64, 'k') + "...\" is 257 bytes long; at most 256");
}

}  // namespace
}  // namespace verbena
