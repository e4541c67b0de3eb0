#include "examples/filecopy/transfer_table.h"

#include <filesystem>

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

  std::shared_ptr<Transfer> MakeTransfer() {
    absl::StatusOr<PartialFile> file = PartialFile::Create(directory_, "a", 0);
    EXPECT_TRUE(file.ok()) << file.status();
    return std::shared_ptr<Transfer>(new Transfer{"a", 0, IncomingTransfer(*std::move(file), 0)});
  }
  bool DirectoryIsEmpty() const { return std::filesystem::is_empty(directory_); }

  const std::string directory_;
  const absl::Time now_ = absl::FromUnixSeconds(1000000);
  TransferTable table_{{.transfers_max = 2, .idle_timeout = absl::Seconds(10)}};
};

TEST_F(TransferTableTest, TransferIsFoundByItsIdAlone) {
  const std::shared_ptr<Transfer> transfer = MakeTransfer();
  const absl::StatusOr<uint64_t> id = table_.Add(transfer, now_);
  ASSERT_TRUE(id.ok());
  EXPECT_EQ(*table_.Find(*id, now_), transfer);
  EXPECT_EQ(table_.Find(*id + 1, now_).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(TransferTableTest, RemovedTransferLeavesNoFile) {
  const absl::StatusOr<uint64_t> id = table_.Add(MakeTransfer(), now_);
  EXPECT_FALSE(DirectoryIsEmpty());
  table_.Remove(*id);
  EXPECT_EQ(table_.Find(*id, now_).status().code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(DirectoryIsEmpty());
  table_.Remove(*id);
}

TEST_F(TransferTableTest, OneTooManyIsResourceExhausted) {
  ASSERT_TRUE(table_.Add(MakeTransfer(), now_).ok());
  ASSERT_TRUE(table_.Add(MakeTransfer(), now_).ok());
  EXPECT_EQ(table_.Add(MakeTransfer(), now_).status().code(), absl::StatusCode::kResourceExhausted);
}

TEST_F(TransferTableTest, IdleOneMakesRoomAndUsedOneStays) {
  const absl::StatusOr<uint64_t> idle = table_.Add(MakeTransfer(), now_);
  const absl::StatusOr<uint64_t> used = table_.Add(MakeTransfer(), now_);
  EXPECT_TRUE(table_.Find(*used, now_ + absl::Seconds(9)).ok());
  EXPECT_TRUE(table_.Add(MakeTransfer(), now_ + absl::Seconds(11)).ok());
  EXPECT_FALSE(table_.Find(*idle, now_ + absl::Seconds(11)).ok());
  EXPECT_TRUE(table_.Find(*used, now_ + absl::Seconds(11)).ok());
}

}  // namespace
}  // namespace verbena::examples
