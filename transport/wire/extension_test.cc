#include "transport/wire/extension.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "transport/wire/frame_bytes.h"

namespace verbena::wire {
namespace {

using ::testing::HasSubstr;

Bytes ListOf(std::initializer_list<std::pair<uint16_t, std::string>> extensions) {
  Bytes list;
  for (const auto& [type, text] : extensions) {
    Bytes one(kExtensionOverheadBytes + text.size());
    const Bytes value = BytesOf(text);
    EXPECT_EQ(EncodeExtension({type, value}, absl::MakeSpan(one)), one.size());
    list.insert(list.end(), one.begin(), one.end());
  }
  return list;
}

TEST(Extension, AreReadInOrder) {
  const Bytes list = ListOf({{5, "five"}, {6, ""}, {5, "again"}});
  ASSERT_TRUE(CheckExtensions(list).ok());
  ExtensionReader reader(list);
  for (const auto& [type, text] : {std::pair{5, "five"}, {6, ""}, {5, "again"}}) {
    const std::optional<Extension> extension = reader.Next();
    ASSERT_TRUE(extension.has_value());
    EXPECT_EQ(extension->type, type);
    EXPECT_EQ(TextOf(extension->value), text);
  }
  EXPECT_FALSE(reader.Next().has_value());
}

TEST(Extension, EmptyListIsWhole) {
  EXPECT_TRUE(CheckExtensions({}).ok());
  EXPECT_FALSE(ExtensionReader({}).Next().has_value());
}

TEST(Extension, ListCutWithinAnExtensionIsRejected) {
  const Bytes list = ListOf({{5, "five"}});
  for (size_t length = 1; length < list.size(); ++length) {
    EXPECT_FALSE(CheckExtensions(absl::MakeConstSpan(list).first(length)).ok()) << length;
  }
}

TEST(Extension, LengthBeyondTheListIsRejectedInWords) {
  Bytes list = ListOf({{5, "five"}});
  list[2] = std::byte{5};
  EXPECT_EQ(CheckExtensions(list).message(), "an extension of type 5 is 5 bytes long where 4 are left");
}

TEST(Extension, ThatDoesNotFitIsNotWritten) {
  Bytes room(7, std::byte{0xaa});
  const Bytes value = BytesOf("four");
  EXPECT_EQ(EncodeExtension({5, value}, absl::MakeSpan(room)), 0u);
  EXPECT_EQ(room, Bytes(7, std::byte{0xaa}));
}

TEST(Extension, LongestValueIs65535Bytes) {
  Bytes room(0x10000 + kExtensionOverheadBytes);
  EXPECT_EQ(EncodeExtension({5, Bytes(0xffff)}, absl::MakeSpan(room)), 0xffff + kExtensionOverheadBytes);
  EXPECT_EQ(EncodeExtension({5, Bytes(0x10000)}, absl::MakeSpan(room)), 0u);
}

}  // namespace
}  // namespace verbena::wire
