#include "examples/filecopy/ordered_digest.h"

#include "absl/strings/escaping.h"
#include "gtest/gtest.h"

namespace verbena::examples {
namespace {

constexpr char kEmptyHex[] = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
constexpr char kAbcHex[] = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";  // FIPS 180-2, B.1.

TEST(OrderedDigest, EmptyFileIsCompleteAtOnce) {
  OrderedDigest digest(0);
  EXPECT_TRUE(digest.complete());
  EXPECT_EQ(absl::BytesToHexString(digest.Current()), kEmptyHex);
}

TEST(OrderedDigest, OrderOfArrivalDoesNotMatter) {
  for (const std::string order : {"abc", "cba", "bca", "bac"}) {
    OrderedDigest digest(3);
    for (const char c : order) {
      const uint64_t offset = c - 'a';
      ASSERT_TRUE(digest.Check(offset, 1).ok()) << order;
      EXPECT_FALSE(digest.complete());
      digest.Add(offset, absl::Cord(std::string(1, c)));
    }
    EXPECT_TRUE(digest.complete());
    EXPECT_EQ(absl::BytesToHexString(digest.Current()), kAbcHex) << order;
  }
}

TEST(OrderedDigest, GoesOnFromABeginning) {
  Sha256 beginning;
  beginning.Update("ab");
  OrderedDigest digest(3, std::move(beginning), 2);
  EXPECT_FALSE(digest.Check(1, 1).ok());
  ASSERT_TRUE(digest.Check(2, 1).ok());
  digest.Add(2, absl::Cord("c"));
  EXPECT_TRUE(digest.complete());
  EXPECT_EQ(absl::BytesToHexString(digest.Current()), kAbcHex);
}

TEST(OrderedDigest, MissingBytesKeepItIncomplete) {
  OrderedDigest digest(3);
  digest.Add(1, absl::Cord("bc"));
  EXPECT_EQ(digest.hashed_bytes(), 0u);
  EXPECT_FALSE(digest.complete());
}

TEST(OrderedDigest, BytesTwiceAreRefused) {
  OrderedDigest digest(100);
  digest.Add(0, absl::Cord("0123456789"));
  digest.Add(20, absl::Cord("0123456789"));
  EXPECT_FALSE(digest.Check(0, 1).ok());
  EXPECT_FALSE(digest.Check(9, 1).ok());
  EXPECT_FALSE(digest.Check(10, 11).ok());
  EXPECT_FALSE(digest.Check(29, 5).ok());
  EXPECT_FALSE(digest.Check(20, 10).ok());
  EXPECT_FALSE(digest.Check(15, 50).ok());
  EXPECT_TRUE(digest.Check(10, 10).ok());
  EXPECT_TRUE(digest.Check(30, 70).ok());
}

TEST(OrderedDigest, BytesOutsideAreRefused) {
  OrderedDigest digest(10);
  EXPECT_FALSE(digest.Check(0, 11).ok());
  EXPECT_FALSE(digest.Check(10, 1).ok());
  EXPECT_FALSE(digest.Check(11, 1).ok());
  EXPECT_FALSE(digest.Check(UINT64_MAX, 2).ok());
  EXPECT_FALSE(digest.Check(2, UINT64_MAX).ok());
  EXPECT_FALSE(digest.Check(5, 0).ok());
}

}  // namespace
}  // namespace verbena::examples
