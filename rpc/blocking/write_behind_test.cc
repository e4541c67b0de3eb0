// A thread that writes behind itself, alone and beside one that reads, and the loop beside them.

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "rpc/blocking/testing/blocking_fixture.h"

namespace verbena::rpc {
namespace {

using WriteBehindTest = BlockingFixture;

constexpr uint64_t kHuge = uint64_t{1} << 40;

TEST_F(WriteBehindTest, LoopThatEndsWakesWhoReadsAndWhoWrites) {
  std::thread reader([this] { EXPECT_EQ(Next(), "-"); });
  std::thread writer([this] { EXPECT_TRUE(absl::IsCancelled(Write("never sent"))); });
  while (loop_->posted() < 3) std::this_thread::yield();  // Both have posted what the loop never runs.
  wire_.stream = nullptr;
  handle_->Detach();
  loop_.reset();
  reader.join();
  writer.join();
}

TEST_F(WriteBehindTest, WriterGoesOnWithoutTheLoop) {
  Beside([this] { EXPECT_EQ(Write("0"), absl::OkStatus()); });
  OnLoop([this] { OpenWindow(kHuge); });
  WithoutLoop([this] {
    for (int i = 1; i < 100; ++i) EXPECT_EQ(Write(absl::StrCat(i)), absl::OkStatus());
    writes_->EndWrites();
  });
  EXPECT_EQ(wire_.sent.size(), 1u);
  loop_->RunUntilIdle();
  ASSERT_EQ(wire_.sent.size(), 100u);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(wire_.sent[i], absl::StrCat(i));
  EXPECT_EQ(wire_.end, 100u) << "the end follows what was written";
  WithoutLoop([this] { EXPECT_TRUE(absl::IsFailedPrecondition(Write("too late"))); });
}

TEST_F(WriteBehindTest, FirstMessageAndLargeOnesAreUnderWayWhenWriteReturns) {
  const std::string large(100000, 'x');
  OnLoop([this] { OpenWindow(kHuge); });
  Beside([this, &large] {
    EXPECT_EQ(Write("first"), absl::OkStatus());
    EXPECT_EQ(wire_.sent.size(), 1u);
    EXPECT_EQ(Write("second"), absl::OkStatus());
    EXPECT_EQ(Write(large), absl::OkStatus());
    EXPECT_EQ(wire_.sent.size(), 3u);
  });
  EXPECT_EQ(wire_.sent, (std::vector<std::string>{"first", "second", large}));
}

TEST_F(WriteBehindTest, MessagesOf64KiBAreWrittenWithoutTheLoop) {
  const std::string message((64 << 10) - 10, 'x');  // And what protobuf adds.
  OnLoop([this] { OpenWindow(kHuge); });
  Beside([this] { EXPECT_EQ(Write("first"), absl::OkStatus()); });
  WithoutLoop([this, &message] {
    for (int i = 0; i < 3; ++i) EXPECT_EQ(Write(message), absl::OkStatus());
  });
  loop_->RunUntilIdle();
  EXPECT_EQ(wire_.sent, (std::vector<std::string>{"first", message, message, message}));
}

TEST_F(WriteBehindTest, AttachmentsLeaveBehindTheWriterButLargeOnes) {
  const std::string large((64 << 10) + 1, 'x');
  OnLoop([this] { OpenWindow(kHuge); });
  Beside([this] { EXPECT_EQ(Write("first", absl::Cord("a")), absl::OkStatus()); });
  WithoutLoop([this] {
    EXPECT_EQ(Write("second", absl::Cord("b")), absl::OkStatus());
    EXPECT_EQ(Write("third"), absl::OkStatus());
  });
  EXPECT_EQ(wire_.sent.size(), 1u);
  Beside([this, &large] {
    EXPECT_EQ(Write("fourth", absl::Cord(large)), absl::OkStatus());
    EXPECT_EQ(wire_.sent.size(), 4u);
  });
  EXPECT_EQ(wire_.sent, (std::vector<std::string>{"first + a", "second + b", "third", "fourth + " + large}));
}

TEST_F(WriteBehindTest, AttachmentsThatWillNotLeaveAreLetGoWithTheCall) {
  Beside([this] { EXPECT_EQ(Write("first"), absl::OkStatus()); });
  std::atomic<int> kept = 2;
  WithoutLoop([this, &kept] {
    for (int i = 0; i < 2; ++i) {
      absl::Cord attachment = absl::MakeCordFromExternal("beside", [&kept] { --kept; });
      EXPECT_EQ(Write(absl::StrCat("never sent ", i), std::move(attachment)), absl::OkStatus());
    }
  });
  EXPECT_EQ(kept, 2);
  Close();
  EXPECT_EQ(kept, 0);
}

TEST_F(WriteBehindTest, AttachmentsCountForHowFarAheadTheWriterIs) {
  static constexpr size_t kBytes = 50000;
  const absl::Cord attachment(std::string(kBytes, '.'));
  std::atomic<uint64_t> written = 0;
  std::thread writer([&] {
    while (Write("small", attachment).ok()) ++written;
  });
  loop_->DriveUntil([&written] { return written >= 4; });
  Close();
  writer.join();
  EXPECT_LE(written, wire_.sent.size() + 2 * (kWriteBehindBytes / kBytes + 1));
}

TEST_F(WriteBehindTest, WriterWhoIsFarAheadOfTheWindowWaits) {
  static constexpr size_t kBytes = 1000;
  std::atomic<uint64_t> written = 0;
  std::thread writer([this, &written] {
    while (Write(std::string(kBytes, '.')).ok()) ++written;
  });
  static constexpr uint64_t kMayBeSent = kStreamWindowInitial / (kBytes + kStreamMessageOverhead) + 1;
  loop_->DriveUntil([this] { return wire_.sent.size() >= kMayBeSent; });
  Close();
  writer.join();
  EXPECT_EQ(wire_.sent.size(), kMayBeSent);
  EXPECT_GE(written, kMayBeSent);
  EXPECT_LE(written, kMayBeSent + 2 * kWriteBehindBytes / kBytes + 2);
}

TEST_F(WriteBehindTest, WindowThatOpensLetsTheWriterGoOn) {
  static constexpr uint64_t kMessages = 500;
  std::thread writer([this] {
    for (uint64_t i = 0; i < kMessages; ++i) EXPECT_EQ(Write(std::string(1000, '.')), absl::OkStatus());
    writes_->Flush();
    EXPECT_EQ(wire_.sent.size(), kMessages) << "nothing waits behind Flush";
    loop_->Post([this] { stream_->Close(MessageStream::Unread::kDrop); });
  });
  loop_->DriveUntil([this] { return wire_.sent.size() > 50; });
  OnLoop([this] { OpenWindow(kHuge); });
  loop_->DriveUntil([this] { return stream_->over(); });
  loop_->RunUntilIdle();
  writer.join();
}

TEST_F(WriteBehindTest, SecondReaderAndSecondWriterAreRefused) {
  std::thread reader([this] { EXPECT_EQ(Next(), "for the first"); });
  std::thread writer([this] { EXPECT_EQ(Write("the first's"), absl::OkStatus()); });
  while (loop_->posted() < 3) std::this_thread::yield();  // Both are at it, and the loop does not run.
  EXPECT_EQ(Next(), "-");
  EXPECT_TRUE(absl::IsFailedPrecondition(Write("the second's")));
  OnLoop([this] { Deliver("for the first"); });
  loop_->DriveUntil([this] { return wire_.sent.size() == 1; });
  loop_->RunUntilIdle();
  reader.join();
  writer.join();
}

TEST_F(WriteBehindTest, WriterLearnsThatTheCallIsOver) {
  Beside([this] { EXPECT_EQ(Write("0"), absl::OkStatus()); });
  WithoutLoop([this] { EXPECT_EQ(Write("copied, but never sent"), absl::OkStatus()); });
  stream_->Close(MessageStream::Unread::kDrop);
  loop_->RunUntilIdle();
  WithoutLoop([this] {
    EXPECT_TRUE(absl::IsCancelled(Write("1")));
    writes_->Flush();
  });
  EXPECT_EQ(wire_.sent, std::vector<std::string>{"0"});
}

TEST_F(WriteBehindTest, ObserverSeesEachMessage) {
  const auto observer = std::make_shared<SeenMessages>();
  OnLoop([this, &observer] {
    stream_->set_observer(observer);
    for (const char* value : {"a", "b", "c"}) Deliver(value);
  });
  Beside([this] {
    for (int i = 0; i < 3; ++i) EXPECT_EQ(Write(Next()), absl::OkStatus());
    writes_->Flush();
  });
  EXPECT_EQ(observer->received, (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(observer->sent, (std::vector<std::string>{"a", "b", "c"}));
}

}  // namespace
}  // namespace verbena::rpc
