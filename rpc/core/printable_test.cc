#include "rpc/core/printable.h"

#include <gtest/gtest.h>

#include <string>

namespace verbena::rpc {
namespace {

constexpr size_t kBytesMax = 17;  // Two words, and one that overlaps.

// Every byte at every place of texts of every length: the others are the least and the greatest that may be there.
template <char kLeast>
void ExpectEachByteJudgedEverywhere() {
  for (size_t size = 1; size <= kBytesMax; ++size) {
    for (size_t place = 0; place < size; ++place) {
      for (int byte = 0; byte < 256; ++byte) {
        for (const char other : {kLeast, '~'}) {
          std::string text(size, other);
          text[place] = static_cast<char>(byte);
          ASSERT_EQ(IsPrintable<kLeast>(text), byte >= kLeast && byte <= '~')
              << "byte " << byte << " at " << place << " of " << size;
        }
      }
    }
  }
}

TEST(Printable, AnEmptyTextIs) {
  EXPECT_TRUE(IsPrintable<' '>(""));
  EXPECT_TRUE(IsPrintable<'!'>(""));
}

TEST(Printable, WithSpacesEachByteCountsAtEachPlace) { ExpectEachByteJudgedEverywhere<' '>(); }

TEST(Printable, WithoutSpacesEachByteCountsAtEachPlace) { ExpectEachByteJudgedEverywhere<'!'>(); }

}  // namespace
}  // namespace verbena::rpc
