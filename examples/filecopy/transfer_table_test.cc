#include "examples/filecopy/transfer_table.h"

#include <filesystem>
#include <vector>

#include "absl/time/clock.h"
#include "gtest/gtest.h"

namespace verbena::examples {
namespace {

class TransferTableTest : public ::testing::Test {
 protected:
  TransferTableTest() : directory_(::testing::TempDir() + "/transfer_table_test") {
    std::filesystem::remove_all(directory_);
    std::filesystem::create_directory(directory_);
  }
  ~TransferTableTest() override { std::filesystem::remove_all(directory_); }

  std::shared_ptr<Transfer> MakeTransfer(const std::string& name) {
    absl::StatusOr<PartialFile> file = PartialFile::Open(directory_, name, 3, false);
    EXPECT_TRUE(file.ok()) << file.status();
    return std::shared_ptr<Transfer>(new Transfer{name, 0, IncomingTransfer(*std::move(file), OrderedDigest(3))});
  }

  const std::string directory_;
  const absl::Time now_ = absl::FromUnixSeconds(1000000);
  TransferTable table_{{.transfers_max = 2, .idle_timeout = absl::Seconds(10)}};
};

TEST_F(TransferTableTest, TransferIsFoundByItsIdAlone) {
  const std::shared_ptr<Transfer> transfer = MakeTransfer("a");
  const absl::StatusOr<uint64_t> id = table_.Add(transfer, now_);
  ASSERT_TRUE(id.ok());
  EXPECT_EQ(*table_.Find(*id, now_), transfer);
  EXPECT_EQ(table_.Find(*id + 1, now_).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(TransferTableTest, RemovedTransferIsNotFound) {
  const std::shared_ptr<Transfer> transfer = MakeTransfer("a");
  const absl::StatusOr<uint64_t> id = table_.Add(transfer, now_);
  EXPECT_EQ(table_.Remove(*id), transfer);
  EXPECT_EQ(table_.Find(*id, now_).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(table_.Remove(*id), nullptr);
}

TEST_F(TransferTableTest, SupersededTransferIsAbortedAndItsFileIsFree) {
  const absl::StatusOr<uint64_t> earlier = table_.Add(MakeTransfer("a"), now_);
  table_.Supersede("a");
  const absl::StatusOr<uint64_t> later = table_.Add(MakeTransfer("a"), now_);
  EXPECT_EQ((*table_.Find(*earlier, now_))->incoming.Write(0, absl::Cord("x")).code(), absl::StatusCode::kAborted);
  EXPECT_TRUE((*table_.Find(*later, now_))->incoming.Write(0, absl::Cord("x")).ok());
}

TEST_F(TransferTableTest, TransferOfAnotherNameIsNotSuperseded) {
  const absl::StatusOr<uint64_t> id = table_.Add(MakeTransfer("a"), now_);
  table_.Supersede("b");
  EXPECT_TRUE((*table_.Find(*id, now_))->incoming.Write(0, absl::Cord("x")).ok());
}

TEST_F(TransferTableTest, SupersededOneTakesNoRoomAndIsAbortedEvenAfterTheLaterOne) {
  const absl::StatusOr<uint64_t> earlier = table_.Add(MakeTransfer("a"), now_);
  table_.Supersede("a");
  const absl::StatusOr<uint64_t> later = table_.Add(MakeTransfer("a"), now_);
  EXPECT_TRUE(table_.Add(MakeTransfer("b"), now_).ok());
  EXPECT_NE(table_.Remove(*later), nullptr);
  EXPECT_EQ((*table_.Find(*earlier, now_))->incoming.Write(0, absl::Cord("x")).code(), absl::StatusCode::kAborted);
}

TEST_F(TransferTableTest, SupersededOnesAreBoundedAndTheOldestGoes) {
  std::vector<uint64_t> ids;
  for (int i = 0; i < 3; ++i) {
    const absl::StatusOr<uint64_t> id = table_.Add(MakeTransfer("a"), now_ + absl::Seconds(i));
    ASSERT_TRUE(id.ok()) << id.status();
    ids.push_back(*id);
    table_.Supersede("a");
  }
  EXPECT_FALSE(table_.Find(ids[0], now_).ok());
  EXPECT_TRUE(table_.Find(ids[1], now_).ok());
  EXPECT_TRUE(table_.Find(ids[2], now_).ok());
}

TEST_F(TransferTableTest, RemovedSupersededOneLeavesTheLaterOne) {
  const absl::StatusOr<uint64_t> earlier = table_.Add(MakeTransfer("a"), now_);
  table_.Supersede("a");
  const absl::StatusOr<uint64_t> later = table_.Add(MakeTransfer("a"), now_);
  EXPECT_NE(table_.Remove(*earlier), nullptr);
  EXPECT_TRUE(table_.Find(*later, now_).ok());
}

TEST_F(TransferTableTest, OneTooManyIsResourceExhausted) {
  ASSERT_TRUE(table_.Add(MakeTransfer("a"), now_).ok());
  ASSERT_TRUE(table_.Add(MakeTransfer("b"), now_).ok());
  EXPECT_EQ(table_.Add(MakeTransfer("c"), now_).status().code(), absl::StatusCode::kResourceExhausted);
}

TEST_F(TransferTableTest, IdleOneMakesRoomAndUsedOneStays) {
  const absl::StatusOr<uint64_t> idle = table_.Add(MakeTransfer("a"), now_);
  const absl::StatusOr<uint64_t> used = table_.Add(MakeTransfer("b"), now_);
  EXPECT_TRUE(table_.Find(*used, now_ + absl::Seconds(9)).ok());
  EXPECT_TRUE(table_.Add(MakeTransfer("c"), now_ + absl::Seconds(11)).ok());
  EXPECT_FALSE(table_.Find(*idle, now_ + absl::Seconds(11)).ok());
  EXPECT_TRUE(table_.Find(*used, now_ + absl::Seconds(11)).ok());
}

}  // namespace
}  // namespace verbena::examples
