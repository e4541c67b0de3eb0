#include "transport/soft/byte_ring.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <deque>
#include <memory>
#include <random>
#include <thread>
#include <utility>

#include "gtest/gtest.h"

namespace verbena::soft {
namespace {

// Ring and lines in plain memory.
class ByteRing : public testing::Test {
 protected:
  explicit ByteRing(uint64_t begin = 0) : begin_(begin) {}

  const uint64_t begin_;
  std::unique_ptr<std::byte[]> bytes_ = std::make_unique<std::byte[]>(kRingBytes);
  RingTail producer_{};
  RingHead consumer_{};
  RingWriter writer_{{bytes_.get(), begin_}, &producer_, &consumer_};
  RingReader reader_{{bytes_.get(), begin_}, &consumer_, &producer_};

  void Write(size_t bytes) {
    ASSERT_NE(writer_.Reserve(bytes), nullptr);
    writer_.Commit(bytes);
    writer_.Publish();
  }

  void Read(size_t bytes) {
    reader_.Refresh();
    ASSERT_EQ(reader_.available(), bytes);
    reader_.Consume(bytes);
    reader_.Publish();
  }

  void ExchangeRecordsInBatches();
  void ExchangeBetweenTwoThreads();
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
    Read(bytes);
  }
  EXPECT_EQ(reader_.available(), 0u);
  EXPECT_FALSE(writer_.broken() || reader_.broken());
}

TEST_F(ByteRing, NothingIsOfferedAcrossTheEnd) {
  Write(kRingBytes - 128);
  Read(kRingBytes - 128);
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
  Read(kRingBytes - 64);
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

// All of a ring's records are read, and the writer knows.
class DrainedRing : public ByteRing {
 protected:
  static constexpr size_t kUsed = kPageBytes + 64;

  DrainedRing() {
    Write(kUsed - 64);
    Write(64);
    Read(kUsed);
  }
};

TEST_F(DrainedRing, GoesOnAtItsBeginning) {
  writer_.Restart();
  std::memcpy(writer_.Reserve(64), "abc", 3);
  writer_.Commit(64);
  reader_.Refresh();
  EXPECT_EQ(reader_.available(), 0u) << "the tail is not published";
  writer_.Publish();
  reader_.Refresh();
  ASSERT_EQ(reader_.available(), 64u);
  EXPECT_EQ(reader_.Peek(), bytes_.get());
  EXPECT_EQ(std::memcmp(reader_.Peek(), "abc", 3), 0);
}

TEST_F(DrainedRing, HasAllOfItsRoomBeforeTheReaderHasFollowed) {
  writer_.Restart();
  Write(kRingBytes);
  EXPECT_EQ(writer_.Reserve(64), nullptr);
  EXPECT_FALSE(writer_.broken());
  Read(kRingBytes);
  EXPECT_NE(writer_.Reserve(64), nullptr);
}

TEST_F(DrainedRing, StaysWhereItIsWhileSomethingIsUnread) {
  Write(64);
  writer_.Restart();
  EXPECT_EQ(writer_.Reserve(64), bytes_.get() + kUsed + 64);
}

TEST_F(DrainedRing, StaysWhereItIsWhereMuchIsWrittenAtATime) {
  Write(4096);
  Read(4096);
  writer_.Restart();
  EXPECT_EQ(writer_.Reserve(64), bytes_.get() + kUsed + 4096);
}

TEST_F(DrainedRing, StaysWhereItIsIfItIsNotToRestart) {
  writer_.NeverRestart();
  writer_.Restart();
  EXPECT_EQ(writer_.Reserve(64), bytes_.get() + kUsed);
}

TEST_F(DrainedRing, WithLittleInUseStaysThere) {
  writer_.Restart();
  Write(64);
  Read(64);
  writer_.Restart();
  EXPECT_EQ(writer_.Reserve(64), bytes_.get() + 64);
}

TEST_F(DrainedRing, ARestartThatCannotBeIsNone) {
  for (uint64_t restart : {uint64_t{kUsed} + 64, uint64_t{kRingBytes} - 64, uint64_t{kRingBytes} * 2, ~uint64_t{63}}) {
    producer_.restart.store(restart);
    producer_.tail.store(kUsed + 128);
    reader_.Refresh();
    EXPECT_EQ(reader_.Peek(), bytes_.get() + kUsed) << restart;
    EXPECT_EQ(reader_.available(), 128u) << restart;
  }
}

// Numbered records of all lengths, written and read in batches of all lengths.
void ByteRing::ExchangeRecordsInBatches() {
  constexpr uint32_t kSeed = 20261123;
  std::mt19937 random(kSeed);
  std::deque<std::pair<uint64_t, size_t>> written;  // Number, bytes.
  uint64_t next = 0;
  size_t restarts = 0;
  for (int round = 0; round < 20'000; ++round) {
    const uint64_t restart = producer_.restart.load();
    writer_.Restart();
    restarts += producer_.restart.load() != restart;
    for (size_t left = random() % 8; left > 0; --left) {
      const size_t longest = random() % 2 == 0 ? 100 : 20'000;
      const size_t bytes = std::min<size_t>(64 + random() % longest, writer_.bytes_to_end());
      std::byte* const record = writer_.Reserve(bytes);
      if (record == nullptr) break;
      std::memcpy(record, &next, sizeof(next));
      writer_.Commit(bytes);
      written.emplace_back(next++, bytes);
    }
    writer_.Publish();
    reader_.Refresh();
    for (size_t left = random() % 12; left > 0 && reader_.available() > 0; --left) {
      ASSERT_FALSE(written.empty());
      ASSERT_EQ(std::memcmp(reader_.Peek(), &written.front().first, sizeof(uint64_t)), 0) << "seed " << kSeed;
      reader_.Consume(written.front().second);
      written.pop_front();
    }
    if (random() % 4 != 0) reader_.Publish();
    ASSERT_FALSE(writer_.broken() || reader_.broken()) << "seed " << kSeed;
  }
  EXPECT_GT(restarts, 100u);
  EXPECT_GT(next, 10'000u);
}

// The writer restarts while the reader looks.
void ByteRing::ExchangeBetweenTwoThreads() {
  constexpr uint64_t kRecords = 300'000;
  std::atomic<bool> failed{false};
  std::thread writer([&] {
    std::mt19937 random(1);
    for (uint64_t next = 0; next < kRecords && !failed.load();) {
      writer_.Restart();
      const size_t bytes = std::min<size_t>(64 + random() % 600, writer_.bytes_to_end());
      std::byte* const record = writer_.Reserve(bytes);
      if (writer_.broken()) failed = true;
      if (record != nullptr) {
        const uint64_t header[2] = {next++, bytes};
        std::memcpy(record, header, sizeof(header));
        writer_.Commit(bytes);
        writer_.Publish();
      }
      // So that the reader gets everything read now and then, and is let run where it has no processor of its own.
      if (record == nullptr || random() % 8 == 0) std::this_thread::yield();
    }
  });
  for (uint64_t next = 0; next < kRecords && !failed.load();) {
    reader_.Refresh();
    if (reader_.available() == 0) std::this_thread::yield();
    while (reader_.available() > 0 && !failed.load()) {
      uint64_t header[2];
      std::memcpy(header, reader_.Peek(), sizeof(header));
      if (header[0] != next++) failed = true;
      reader_.Consume(header[1]);
    }
    reader_.Publish();
    if (reader_.broken()) failed = true;
  }
  writer.join();
  EXPECT_FALSE(failed || writer_.broken());
  EXPECT_GT(producer_.restart.load(), 0u);
}

TEST_F(ByteRing, WhateverTheBatchesEachRecordIsReadOnceAndInOrder) { ExchangeRecordsInBatches(); }

TEST_F(ByteRing, BetweenTwoThreadsEachRecordIsReadOnceAndInOrder) { ExchangeBetweenTwoThreads(); }

// As the request ring does that stands before the control lines.
class RingThatBeginsAtItsEnd : public ByteRing {
 protected:
  static constexpr uint64_t kBeforeTheEnd = kRingBytesBesideControl;

  RingThatBeginsAtItsEnd() : ByteRing(kRingBytes - kBeforeTheEnd) {}
};

TEST_F(RingThatBeginsAtItsEnd, GoesOnAtItsFirstByte) {
  EXPECT_EQ(writer_.Reserve(64), bytes_.get() + kRingBytes - kBeforeTheEnd);
  EXPECT_EQ(writer_.bytes_to_end(), kBeforeTheEnd);
  Write(kBeforeTheEnd);
  Read(kBeforeTheEnd);
  EXPECT_EQ(writer_.Reserve(64), bytes_.get());
  EXPECT_EQ(writer_.bytes_to_end(), kRingBytes);
}

TEST_F(RingThatBeginsAtItsEnd, RestartsWhereItBegan) {
  Write(kBeforeTheEnd);
  Write(64);
  Read(kBeforeTheEnd);
  Read(64);
  writer_.Restart();
  EXPECT_EQ(writer_.Reserve(64), bytes_.get() + kRingBytes - kBeforeTheEnd);
  Write(64);
  Read(64);
}

TEST_F(RingThatBeginsAtItsEnd, SmallRecordsOneAfterAnotherStayThere) {
  for (int i = 0; i < 1000; ++i) {
    writer_.Restart();
    EXPECT_GE(writer_.Reserve(512), bytes_.get() + kRingBytes - kBeforeTheEnd);
    Write(512);
    Read(512);
  }
}

TEST_F(RingThatBeginsAtItsEnd, WhateverTheBatchesEachRecordIsReadOnceAndInOrder) { ExchangeRecordsInBatches(); }

TEST_F(RingThatBeginsAtItsEnd, BetweenTwoThreadsEachRecordIsReadOnceAndInOrder) { ExchangeBetweenTwoThreads(); }

}  // namespace
}  // namespace verbena::soft
