#include "transport/wire/checksum.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include "transport/wire/frame_bytes.h"

namespace verbena::wire {
namespace {

uint32_t ChecksumOf(const Bytes& bytes) {
  Crc32c checksum;
  checksum.Add(bytes);
  return checksum.value();
}

Bytes Counting(size_t count, bool up) {
  Bytes bytes(count);
  for (size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(up ? i : count - 1 - i);
  return bytes;
}

// The definition, a bit at a time.
uint32_t SlowChecksumOf(const Bytes& bytes) {
  uint32_t state = 0xffffffff;
  for (std::byte byte : bytes) {
    state ^= static_cast<uint32_t>(byte);
    for (int bit = 0; bit < 8; ++bit) state = (state >> 1) ^ ((state & 1) != 0 ? 0x82f63b78 : 0);
  }
  return ~state;
}

TEST(Crc32c, Rfc3720VectorsMatch) {
  EXPECT_EQ(ChecksumOf(Bytes(32, std::byte{0x00})), 0x8a9136aau);
  EXPECT_EQ(ChecksumOf(Bytes(32, std::byte{0xff})), 0x62a8ab43u);
  EXPECT_EQ(ChecksumOf(Counting(32, true)), 0x46dd794eu);
  EXPECT_EQ(ChecksumOf(Counting(32, false)), 0x113fdb5cu);
}

TEST(Crc32c, CheckValueMatches) { EXPECT_EQ(ChecksumOf(BytesOf("123456789")), 0xe3069283u); }

TEST(Crc32c, NothingIsZero) {
  EXPECT_EQ(Crc32c().value(), 0u);
  EXPECT_EQ(ChecksumOf({}), 0u);
}

TEST(Crc32c, PiecesCountAsOne) {
  const Bytes whole = Counting(1000, true);
  for (size_t cut : {size_t{0}, size_t{1}, size_t{7}, size_t{500}, size_t{999}, size_t{1000}}) {
    Crc32c checksum;
    checksum.Add(absl::MakeConstSpan(whole).first(cut));
    checksum.Add(absl::MakeConstSpan(whole).subspan(cut));
    EXPECT_EQ(checksum.value(), ChecksumOf(whole)) << cut;
  }
}

TEST(Crc32c, EveryLengthAndAlignmentMatchesTheDefinition) {
  const Bytes source = Counting(300, true);
  for (size_t start : {0, 1, 3, 8}) {
    for (size_t length = 0; length + start <= source.size(); length += 13) {
      const Bytes piece(source.begin() + start, source.begin() + start + length);
      EXPECT_EQ(ChecksumOf(piece), SlowChecksumOf(piece)) << start << " " << length;
    }
  }
}

// ISA-L counts bytes in an int. Pages that are only read all are the system's one page of zeros.
TEST(Crc32c, LengthBeyondAnIntMatches) {
  constexpr size_t kLength = size_t{3} << 30;
  constexpr size_t kPiece = size_t{1} << 20;
  void* zeros = mmap(nullptr, kLength, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(zeros, MAP_FAILED);
  Crc32c at_once;
  at_once.Add(absl::MakeConstSpan(static_cast<const std::byte*>(zeros), kLength));
  munmap(zeros, kLength);

  Crc32c in_pieces;
  const Bytes piece(kPiece);
  for (size_t done = 0; done < kLength; done += kPiece) in_pieces.Add(piece);
  EXPECT_EQ(at_once.value(), in_pieces.value());
}

}  // namespace
}  // namespace verbena::wire
