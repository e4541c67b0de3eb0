#include "examples/filecopy/incoming_transfer.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>
#include <vector>

#include "examples/filecopy/sha256.h"
#include "gtest/gtest.h"

namespace verbena::examples {
namespace {

std::string DigestOf(absl::string_view bytes) {
  Sha256 digest;
  digest.Update(bytes);
  return digest.Current();
}

class IncomingTransferTest : public ::testing::Test {
 protected:
  IncomingTransferTest() : directory_(::testing::TempDir() + "/incoming_transfer_test") {
    std::filesystem::remove_all(directory_);
    std::filesystem::create_directory(directory_);
  }
  ~IncomingTransferTest() override { std::filesystem::remove_all(directory_); }

  std::unique_ptr<IncomingTransfer> Begin(uint64_t bytes) {
    absl::StatusOr<PartialFile> file = PartialFile::Open(directory_, "a", bytes, false);
    EXPECT_TRUE(file.ok()) << file.status();
    return std::make_unique<IncomingTransfer>(*std::move(file), OrderedDigest(bytes));
  }
  uint64_t Received(uint64_t bytes) const {
    absl::StatusOr<PartialFile> file = PartialFile::Open(directory_, "a", bytes, false);
    EXPECT_TRUE(file.ok()) << file.status();
    return file.ok() ? file->received() : 0;
  }
  bool FileExists() const { return std::filesystem::exists(directory_ + "/a"); }
  std::string ReadBack() const {
    std::ifstream file(directory_ + "/a", std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  const std::string directory_;
};

TEST_F(IncomingTransferTest, EmptyFileArrives) {
  auto transfer = Begin(0);
  EXPECT_TRUE(transfer->Finish(DigestOf("")).ok());
  EXPECT_TRUE(FileExists());
}

TEST_F(IncomingTransferTest, ChunksFromManyThreadsMakeTheFile) {
  constexpr int kChunks = 64;
  constexpr int kChunkBytes = 1000;
  std::string content;
  for (int i = 0; i < kChunks * kChunkBytes; ++i) content += static_cast<char>(i * 7 + i / 251);
  auto transfer = Begin(content.size());
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = kChunks - 4 + t; i >= 0; i -= 4) {
        const uint64_t offset = static_cast<uint64_t>(i) * kChunkBytes;
        EXPECT_TRUE(transfer->Write(offset, absl::Cord(content.substr(offset, kChunkBytes))).ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const absl::StatusOr<std::string> sha256 = transfer->Finish(DigestOf(content));
  ASSERT_TRUE(sha256.ok()) << sha256.status();
  EXPECT_EQ(*sha256, DigestOf(content));
  EXPECT_EQ(ReadBack(), content);
}

TEST_F(IncomingTransferTest, WrongDigestIsDataLossAndNoFile) {
  auto transfer = Begin(3);
  EXPECT_TRUE(transfer->Write(0, absl::Cord("abc")).ok());
  EXPECT_EQ(transfer->Finish(DigestOf("abd")).status().code(), absl::StatusCode::kDataLoss);
  EXPECT_FALSE(transfer->Finish(DigestOf("abc")).ok());
  EXPECT_TRUE(std::filesystem::is_empty(directory_));
}

TEST_F(IncomingTransferTest, MissingBytesCanStillBeWritten) {
  auto transfer = Begin(3);
  EXPECT_TRUE(transfer->Write(1, absl::Cord("bc")).ok());
  EXPECT_EQ(transfer->Finish(DigestOf("abc")).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_FALSE(FileExists());
  EXPECT_TRUE(transfer->Write(0, absl::Cord("a")).ok());
  EXPECT_TRUE(transfer->Finish(DigestOf("abc")).ok());
}

TEST_F(IncomingTransferTest, WhatIsKeptIsWhatHasNoGap) {
  auto transfer = Begin(9);
  EXPECT_TRUE(transfer->Write(0, absl::Cord("ab")).ok());
  EXPECT_TRUE(transfer->Write(6, absl::Cord("ghi")).ok());
  transfer.reset();
  EXPECT_EQ(Received(9), 2u);
  EXPECT_FALSE(FileExists());
}

TEST_F(IncomingTransferTest, StoppedTransferFailsAndLeavesItsFileToAnother) {
  auto transfer = Begin(3);
  EXPECT_TRUE(transfer->Write(0, absl::Cord("ab")).ok());
  transfer->Stop(absl::AbortedError("stopped"));
  EXPECT_EQ(transfer->Write(2, absl::Cord("c")).code(), absl::StatusCode::kAborted);
  EXPECT_EQ(transfer->Finish(DigestOf("abc")).status().code(), absl::StatusCode::kAborted);
  EXPECT_EQ(Received(3), 2u);
}

TEST_F(IncomingTransferTest, DiscardedTransferLeavesNothing) {
  auto transfer = Begin(3);
  EXPECT_TRUE(transfer->Write(0, absl::Cord("ab")).ok());
  transfer->Discard(absl::AbortedError("discarded"));
  EXPECT_EQ(transfer->Write(2, absl::Cord("c")).code(), absl::StatusCode::kAborted);
  EXPECT_TRUE(std::filesystem::is_empty(directory_));
}

TEST_F(IncomingTransferTest, NothingIsTakenAfterTheEnd) {
  auto transfer = Begin(1);
  EXPECT_TRUE(transfer->Write(0, absl::Cord("a")).ok());
  EXPECT_TRUE(transfer->Finish(DigestOf("a")).ok());
  EXPECT_FALSE(transfer->Write(0, absl::Cord("b")).ok());
  EXPECT_FALSE(transfer->Finish(DigestOf("a")).ok());
  EXPECT_EQ(ReadBack(), "a");
}

}  // namespace
}  // namespace verbena::examples
