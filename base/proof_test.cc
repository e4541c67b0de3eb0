#include "base/proof.h"

#include <gtest/gtest.h>

#include <string>

namespace verbena {
namespace {

absl::Span<const std::byte> BytesOf(const std::string& text) {
  return absl::MakeConstSpan(reinterpret_cast<const std::byte*>(text.data()), text.size());
}

// RFC 4231, test case 2.
TEST(Proof, IsHmacSha256) {
  const std::string statement = "what do ya want for nothing?";
  const Proof proof = MakeProof("Jefe", BytesOf(statement));
  EXPECT_EQ(proof[0], std::byte{0x5b});
  EXPECT_EQ(proof[1], std::byte{0xdc});
  EXPECT_EQ(proof[31], std::byte{0x43});
}

TEST(Proof, IsTheSameInEveryByteOrNotAtAll) {
  const Proof proof = MakeProof("secret", {});
  EXPECT_TRUE(SameProof(proof, proof));
  for (size_t i = 0; i < proof.size(); ++i) {
    Proof other = proof;
    other[i] ^= std::byte{1};
    EXPECT_FALSE(SameProof(proof, other)) << i;
  }
  EXPECT_FALSE(SameProof(proof, absl::MakeConstSpan(proof).first(31)));
}

TEST(Nonce, IsAnotherEachTime) { EXPECT_NE(RandomNonce(), RandomNonce()); }

}  // namespace
}  // namespace verbena
