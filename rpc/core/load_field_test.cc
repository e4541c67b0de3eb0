#include "rpc/core/load_field.h"

#include <gtest/gtest.h>

#include <array>

#include "rpc/core/header_field.h"

namespace verbena::rpc {
namespace {

constexpr double kExactly = 1e-6;  // As exactly as the wire says it.

std::optional<double> ThereAndBack(double load) {
  std::array<std::byte, 8> bytes;
  const size_t size = AppendLoad(load, absl::MakeSpan(bytes));
  EXPECT_EQ(CheckHeaderFields(absl::MakeConstSpan(bytes).first(size)), absl::OkStatus());
  return ReadLoad(absl::MakeConstSpan(bytes).first(size));
}

TEST(LoadField, IsReadAsItWasWritten) {
  for (const double load : {0.0, 0.05, 0.5, 0.999999, 1.0}) EXPECT_NEAR(*ThereAndBack(load), load, kExactly);
}

TEST(LoadField, WhatIsNoLoadIsCutOff) {
  EXPECT_EQ(ThereAndBack(-1), 0);
  EXPECT_EQ(ThereAndBack(7), 1);
  std::array<std::byte, 8> bytes;
  HeaderFieldWriter(absl::MakeSpan(bytes)).AppendCount(HeaderFieldType::kLoad, 2'000'000);
  EXPECT_EQ(ReadLoad(bytes), 1);
}

TEST(LoadField, WithoutRoomNothingIsWritten) {
  std::array<std::byte, 7> bytes;
  EXPECT_EQ(AppendLoad(0.5, absl::MakeSpan(bytes)), 0u);
}

TEST(LoadField, IsFoundBehindOtherFieldsAndNotWhereThereIsNone) {
  std::array<std::byte, 64> bytes;
  HeaderFieldWriter writer(absl::MakeSpan(bytes));
  writer.AppendNamedValue(HeaderFieldType::kMetadata, "user", absl::string_view("ada"));
  EXPECT_EQ(ReadLoad(absl::MakeConstSpan(bytes).first(writer.size())), std::nullopt);
  const size_t size = writer.size() + AppendLoad(0.25, absl::MakeSpan(bytes).subspan(writer.size()));
  EXPECT_NEAR(*ReadLoad(absl::MakeConstSpan(bytes).first(size)), 0.25, kExactly);
}

TEST(LoadField, OfAnotherLengthIsMalformed) {
  const std::array<std::byte, 6> bytes = {std::byte{5}, std::byte{0}, std::byte{2}, std::byte{0}};
  EXPECT_TRUE(absl::IsInvalidArgument(CheckHeaderFields(bytes)));
}

}  // namespace
}  // namespace verbena::rpc
