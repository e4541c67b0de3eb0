#include "transport/soft/byte_ring.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "gtest/gtest.h"

namespace verbena::soft {
namespace {

// Ring and lines in plain memory.
class ByteRing : public testing::Test {
 protected:
  std::unique_ptr<std::byte[]> bytes_ = std::make_unique<std::byte[]>(kRingBytes);
  RingTail producer_{};
  RingHead consumer_{};
  RingWriter writer_{bytes_.get(), &producer_, &consumer_};
  RingReader reader_{bytes_.get(), &consumer_, &producer_};

  void Write(size_t bytes) {
    ASSERT_NE(writer_.Reserve(bytes), nullptr);
    writer_.Commit(bytes);
    writer_.Publish();
  }
};

TEST_F(ByteRing, RecordsTakeWholeCacheLines) {
  EXPECT_EQ(RecordBytes(1), 64u);
  EXPECT_EQ(RecordBytes(64), 64u);
  EXPECT_EQ(RecordBytes(65), 128u);
}

TEST_F(ByteRing, CommittedBytesAreSeenOnlyAfterPublishAndRefresh) {
  std::memcpy(writer_.Reserve(100), "abc", 3);
  writer_.Commit(100);
  reader_.Refresh();
  EXPECT_EQ(reader_.available(), 0u);
  writer_.Publish();
  EXPECT_EQ(reader_.available(), 0u);
  reader_.Refresh();
  EXPECT_EQ(reader_.available(), 128u);
  EXPECT_EQ(std::memcmp(reader_.Peek(), "abc", 3), 0);
}

TEST_F(ByteRing, FullRingHasRoomAgainAfterTheReaderPublishes) {
  Write(kRingBytes);
  EXPECT_EQ(writer_.Reserve(1), nullptr);
  reader_.Refresh();
  reader_.Consume(64);
  EXPECT_EQ(writer_.Reserve(1), nullptr);
  reader_.Publish();
  EXPECT_NE(writer_.Reserve(64), nullptr);
  EXPECT_EQ(writer_.Reserve(65), nullptr);
}

TEST_F(ByteRing, PositionsWrapAround) {
  for (int round = 0; round < 10; ++round) {
    size_t bytes = std::min(kRingBytes / 2 + 64, writer_.bytes_to_end());
    Write(bytes);
    reader_.Refresh();
    reader_.Consume(bytes);
    reader_.Publish();
  }
  EXPECT_EQ(reader_.available(), 0u);
  EXPECT_FALSE(writer_.broken() || reader_.broken());
}

TEST_F(ByteRing, NothingIsOfferedAcrossTheEnd) {
  Write(kRingBytes - 128);
  reader_.Refresh();
  reader_.Consume(kRingBytes - 128);
  reader_.Publish();
  EXPECT_EQ(writer_.bytes_to_end(), 128u);
  producer_.tail.store(kRingBytes + 256);  // Two records, or what somebody says is one.
  reader_.Refresh();
  EXPECT_EQ(reader_.available(), 128u);
  reader_.Consume(128);
  EXPECT_EQ(reader_.Peek(), bytes_.get());
  EXPECT_EQ(reader_.available(), 256u);
}

TEST_F(ByteRing, RoomIsCountedAcrossTheEnd) {
  Write(kRingBytes - 64);
  reader_.Refresh();
  reader_.Consume(kRingBytes - 64);
  reader_.Publish();
  EXPECT_EQ(writer_.bytes_to_end(), 64u);
  EXPECT_TRUE(writer_.HasRoom(kRingBytes));
}

TEST_F(ByteRing, HeadBeyondTheTailBreaksTheWriter) {
  Write(kRingBytes);
  consumer_.head.store(kRingBytes + 64);
  EXPECT_EQ(writer_.Reserve(1), nullptr);
  EXPECT_TRUE(writer_.broken());
}

TEST_F(ByteRing, HeadThatGoesBackBreaksTheWriter) {
  Write(kRingBytes);
  consumer_.head.store(4096);
  ASSERT_NE(writer_.Reserve(4096), nullptr);
  writer_.Commit(4096);
  consumer_.head.store(64);
  EXPECT_EQ(writer_.Reserve(64), nullptr);
  EXPECT_TRUE(writer_.broken());
}

TEST_F(ByteRing, TailBeyondTheRingBreaksTheReader) {
  producer_.tail.store(kRingBytes + 64);
  reader_.Refresh();
  EXPECT_TRUE(reader_.broken());
  EXPECT_EQ(reader_.available(), 0u);
}

TEST_F(ByteRing, TailWithinARecordBreaksTheReader) {
  producer_.tail.store(63);
  reader_.Refresh();
  EXPECT_TRUE(reader_.broken());
}

TEST_F(ByteRing, TailThatGoesBackBreaksTheReader) {
  Write(128);
  reader_.Refresh();
  producer_.tail.store(64);
  reader_.Refresh();
  EXPECT_TRUE(reader_.broken());
}

}  // namespace
}  // namespace verbena::soft
