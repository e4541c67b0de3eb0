// Two mirrors and a stream between them carry what two queue pairs would write into shared memory.

#include "transport/soft/stream/mirror.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <memory>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "transport/soft/byte_ring.h"
#include "transport/soft/record.h"
#include "transport/soft/shared_mapping.h"

namespace verbena::soft {
namespace {

// Stands in for a queue pair at end 0 of its memory: it writes numbered records and checks those that it reads.
class FakeEnd {
 public:
  FakeEnd()
      : mapping_(*SharedMapping::Create(SharedMapping::Kind::kPair)),
        own_(mapping_->pair().control.ends[0]),
        far_(mapping_->pair().control.ends[1]),
        mirror(&mapping_->pair()),
        writer_({mapping_->pair().request_ring(0)}, &own_.requests_out.ring, &far_.requests_in.ring),
        reader_({mapping_->pair().request_ring(1)}, &own_.requests_in.ring, &far_.requests_out.ring),
        answers_out_({mapping_->pair().response_rings[0]}, &own_.responses_out.ring, &far_.responses_in.ring),
        answers_in_({mapping_->pair().response_rings[1]}, &own_.responses_in.ring, &far_.responses_out.ring) {
    own_.requests_out.rnr_retry.store(7);
  }

  // A record of `payload_bytes`, if there is room.
  bool Write(uint32_t payload_bytes) { return WriteTo(writer_, RecordKind::kSend, payload_bytes, &written_); }

  // Reads and accepts one record, if one is there; every third one is answered.
  bool ReadOne() {
    reader_.Refresh();
    if (!ReadFrom(reader_, &read_)) return false;
    if (read_ % 3 == 0) WriteTo(answers_out_, RecordKind::kReadResponse, 100, &answers_written_);
    own_.requests_in.accepted.store(read_);
    return true;
  }
  bool ReadAnswer() {
    answers_in_.Refresh();
    return ReadFrom(answers_in_, &answers_read_);
  }

  EndControl& own() { return own_; }
  const EndControl& far() const { return far_; }
  uint64_t written() const { return written_; }
  uint64_t read() const { return read_; }
  uint64_t answers_written() const { return answers_written_; }
  uint64_t answers_read() const { return answers_read_; }

 private:
  static bool WriteTo(RingWriter& ring, RecordKind kind, uint32_t payload_bytes, uint64_t* count) {
    payload_bytes =
        static_cast<uint32_t>(std::min<uint64_t>(payload_bytes, NextFragmentBytesMax(ring, sizeof(RecordHeader))));
    std::byte* record = ring.Reserve(sizeof(RecordHeader) + payload_bytes);
    if (record == nullptr) return false;
    RecordHeader header = {};
    header.kind = kind;
    header.payload_bytes = payload_bytes;
    header.number = ++*count;
    std::memcpy(record, &header, sizeof(header));
    std::memset(record + sizeof(header), static_cast<int>(*count & 0xff), payload_bytes);
    ring.Commit(sizeof(header) + payload_bytes);
    ring.Publish();
    return true;
  }

  static bool ReadFrom(RingReader& ring, uint64_t* count) {
    if (ring.available() == 0) return false;
    RecordHeader header;
    std::memcpy(&header, ring.Peek(), sizeof(header));
    EXPECT_EQ(header.number, ++*count);
    EXPECT_LE(RecordBytes(sizeof(header) + header.payload_bytes), ring.available()) << "cut record";
    const std::byte* payload = ring.Peek() + sizeof(header);
    for (uint32_t i = 0; i < header.payload_bytes; ++i) {
      if (payload[i] != static_cast<std::byte>(*count & 0xff)) ADD_FAILURE() << "byte " << i << " of " << *count;
    }
    ring.Consume(sizeof(header) + header.payload_bytes);
    ring.Publish();
    return true;
  }

  const std::shared_ptr<SharedMapping> mapping_;
  EndControl& own_;
  const EndControl& far_;

 public:
  Mirror mirror;

 private:
  RingWriter writer_;
  RingReader reader_;
  RingWriter answers_out_;
  RingReader answers_in_;
  uint64_t written_ = 0;
  uint64_t read_ = 0;
  uint64_t answers_written_ = 0;
  uint64_t answers_read_ = 0;
};

using Bytes = std::vector<std::byte>;

// Everything that `end` has to say, as one driver with an endless socket would write it.
Bytes TakeOutput(FakeEnd& end) {
  Bytes bytes;
  for (auto pieces = end.mirror.PiecesToSend(); !pieces.empty(); pieces = end.mirror.PiecesToSend()) {
    size_t total = 0;
    for (Mirror::Piece piece : pieces) {
      bytes.insert(bytes.end(), piece.begin(), piece.end());
      total += piece.size();
    }
    end.mirror.Sent(total);
  }
  return bytes;
}

TEST(Mirror, RecordAndItsAcceptanceArrive) {
  FakeEnd left;
  FakeEnd right;
  ASSERT_TRUE(left.Write(64));
  ASSERT_TRUE(right.mirror.Receive(TakeOutput(left)));
  ASSERT_TRUE(right.ReadOne());
  EXPECT_EQ(right.mirror.demand(), Mirror::Demand::kLater);
  ASSERT_TRUE(left.mirror.Receive(TakeOutput(right)));
  EXPECT_EQ(left.far().requests_in.accepted.load(), 1u);
  EXPECT_EQ(left.mirror.demand(), Mirror::Demand::kNone);
  EXPECT_EQ(right.mirror.demand(), Mirror::Demand::kNone);
}

TEST(Mirror, NothingShowsBeforeTheLastByteOfAnUpdate) {
  FakeEnd left;
  FakeEnd right;
  ASSERT_TRUE(left.Write(1000));
  Bytes bytes = TakeOutput(left);
  std::byte last = bytes.back();
  bytes.pop_back();
  ASSERT_TRUE(right.mirror.Receive(bytes));
  EXPECT_FALSE(right.ReadOne());
  ASSERT_TRUE(right.mirror.Receive({&last, 1}));
  EXPECT_TRUE(right.ReadOne());
}

TEST(Mirror, AcceptanceRidesWithTheReply) {
  FakeEnd left;
  FakeEnd right;
  ASSERT_TRUE(left.Write(64));
  ASSERT_TRUE(right.mirror.Receive(TakeOutput(left)));
  ASSERT_TRUE(right.ReadOne());
  ASSERT_TRUE(right.Write(64));
  EXPECT_EQ(right.mirror.demand(), Mirror::Demand::kNow);
  Bytes reply = TakeOutput(right);
  EXPECT_EQ(reply.size(), kUpdateHeaderBytes + RecordBytes(sizeof(RecordHeader) + 64)) << "one update";
  ASSERT_TRUE(left.mirror.Receive(reply));
  EXPECT_EQ(left.far().requests_in.accepted.load(), 1u);
  EXPECT_TRUE(left.ReadOne());
}

TEST(Mirror, UrgentWordsDoNotWaitForCompany) {
  FakeEnd end;
  end.own().state.refusal.store(13);
  EXPECT_EQ(end.mirror.demand(), Mirror::Demand::kNow);
  TakeOutput(end);
  end.own().requests_out.probe.store(1);
  EXPECT_EQ(end.mirror.demand(), Mirror::Demand::kNow);
  TakeOutput(end);
  end.own().state.closed.store(1);
  EXPECT_EQ(end.mirror.demand(), Mirror::Demand::kNow);
  TakeOutput(end);
  EXPECT_EQ(end.mirror.demand(), Mirror::Demand::kNone);
}

TEST(Mirror, WordsAboutManyBytesWaitForAllOfThem) {
  FakeEnd left;
  FakeEnd right;
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(left.Write(kFragmentBytesMax));
  left.own().state.closed.store(1);
  left.mirror.PiecesToSend();
  auto first = left.mirror.PiecesToSend();
  for (Mirror::Piece piece : first) ASSERT_TRUE(right.mirror.Receive(piece));
  EXPECT_TRUE(right.ReadOne());
  EXPECT_EQ(right.far().state.closed.load(), 0u) << "two records are still to come";
  size_t total = 0;
  for (Mirror::Piece piece : first) total += piece.size();
  left.mirror.Sent(total);
  ASSERT_TRUE(right.mirror.Receive(TakeOutput(left)));
  EXPECT_EQ(right.far().state.closed.load(), 1u);
}

TEST(Mirror, RulesOfTheStreamAreEnforced) {
  auto refuses = [](const UpdateHeader& header) {
    FakeEnd end;
    return !end.mirror.Receive(EncodeUpdateHeader(header));
  };
  EXPECT_TRUE(refuses({.requests_consumed = 64})) << "what was never sent";
  EXPECT_TRUE(refuses({.responses_consumed = 64}));
  FakeEnd end;
  ASSERT_TRUE(end.mirror.Receive(EncodeUpdateHeader({.accepted = 5})));
  EXPECT_FALSE(end.mirror.Receive(EncodeUpdateHeader({.accepted = 4}))) << "backwards";
}

TEST(Mirror, MoreThanTheRingHasRoomForIsRefused) {
  FakeEnd end;
  Bytes update(kUpdateHeaderBytes + kUpdateRingBytesMax);
  UpdateHeaderBytes header = EncodeUpdateHeader({.request_bytes = kUpdateRingBytesMax});
  std::memcpy(update.data(), header.data(), header.size());
  for (size_t filled = 0; filled < kRingBytes; filled += kUpdateRingBytesMax) {
    ASSERT_TRUE(end.mirror.Receive(update));
  }
  EXPECT_FALSE(end.mirror.Receive(update));
}

TEST(Mirror, BytesAcrossTheEndOfTheRingAreRefused) {
  FakeEnd end;
  const auto receive = [&end](uint32_t ring_bytes) {
    Bytes update(kUpdateHeaderBytes + ring_bytes);
    UpdateHeaderBytes header = EncodeUpdateHeader({.request_bytes = ring_bytes});
    std::memcpy(update.data(), header.data(), header.size());
    return end.mirror.Receive(update);
  };
  for (size_t filled = 0; filled < kRingBytes - kUpdateRingBytesMax; filled += kUpdateRingBytesMax) {
    ASSERT_TRUE(receive(kUpdateRingBytesMax));
  }
  ASSERT_TRUE(receive(kUpdateRingBytesMax - kCacheLineBytes));
  end.own().requests_in.ring.head.store(kRingBytes - kCacheLineBytes);  // All of it is consumed: there is room.
  EXPECT_FALSE(receive(2 * kCacheLineBytes));
}

// A stream that holds a bounded number of bytes, and is written and read at any cut.
struct Direction {
  static constexpr size_t kBytesMax = 40000;

  void Write(FakeEnd& from, std::minstd_rand& random) {
    auto pieces = from.mirror.PiecesToSend();
    size_t left = std::min<size_t>(random() % 20000, kBytesMax - bytes.size());
    size_t sent = 0;
    for (Mirror::Piece piece : pieces) {
      size_t count = std::min(left, piece.size());
      bytes.insert(bytes.end(), piece.begin(), piece.begin() + static_cast<ptrdiff_t>(count));
      left -= count;
      sent += count;
    }
    if (!pieces.empty()) from.mirror.Sent(sent);
  }
  void Read(FakeEnd& to, std::minstd_rand& random) {
    size_t count = std::min<size_t>(bytes.size(), random() % 20000);
    Bytes part(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(count));
    bytes.erase(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(count));
    ASSERT_TRUE(to.mirror.Receive(part));
  }

  std::deque<std::byte> bytes;
};

void RunSimulation(uint32_t seed) {
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::minstd_rand random(seed);
  FakeEnd ends[2];
  Direction directions[2];
  constexpr uint64_t kRecords = 300;
  auto finished = [&] {
    for (int i : {0, 1}) {
      if (ends[i].written() < kRecords || ends[1 - i].read() < kRecords) return false;
      if (ends[i].far().requests_in.accepted.load() < kRecords) return false;
      if (ends[i].answers_written() != ends[1 - i].answers_read()) return false;
    }
    return true;
  };
  int steps = 0;
  for (; !finished() && steps < 100000; ++steps) {
    size_t i = random() % 2;
    switch (random() % 5) {
      case 0:
        if (ends[i].written() < kRecords)
          ends[i].Write(random() % 8 == 0 ? random() % kFragmentBytesMax : random() % 200);
        break;
      case 1:
        directions[i].Write(ends[i], random);
        break;
      case 2:
        directions[i].Read(ends[1 - i], random);
        break;
      case 3:
        ends[i].ReadOne();
        break;
      default:
        ends[i].ReadAnswer();
    }
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_TRUE(finished()) << "stands still";
}

TEST(Mirror, EverythingArrivesOnceAndInOrderAtAnyCut) {
  for (uint32_t seed = 1; seed <= 40 && !HasFailure(); ++seed) RunSimulation(seed);
}

TEST(Mirror, FreshSeedArrivesToo) { RunSimulation(std::random_device()()); }

// Whatever a hostile far end sends, it stays within the rings (sanitizers) and is refused or harmless.
TEST(Mirror, DamagedUpdatesNeverLeaveTheRings) {
  std::minstd_rand random(3);
  for (int round = 0; round < 3000; ++round) {
    FakeEnd left;
    FakeEnd right;
    for (int i = 0; i < 3; ++i) left.Write(random() % 3000);
    Bytes bytes = TakeOutput(left);
    for (int flips = 0; flips < 3; ++flips) bytes[random() % kUpdateHeaderBytes] = std::byte(random() & 0xff);
    bytes.resize(random() % 2 == 0 ? bytes.size() : random() % bytes.size());
    if (right.mirror.Receive(bytes)) right.mirror.Receive(bytes);
  }
}

}  // namespace
}  // namespace verbena::soft
