#include "examples/filecopy/file_digest.h"

#include <filesystem>
#include <fstream>

#include "gtest/gtest.h"

namespace verbena::examples {
namespace {

class FileDigestTest : public ::testing::Test {
 protected:
  FileDigestTest() : path_(::testing::TempDir() + "/file_digest_test") { std::ofstream(path_) << "abcdef"; }
  ~FileDigestTest() override { std::filesystem::remove(path_); }

  const std::string path_;
};

TEST_F(FileDigestTest, GoesOnWithWhatFollows) {
  absl::StatusOr<SourceFile> file = SourceFile::Open(path_);
  ASSERT_TRUE(file.ok()) << file.status();
  absl::StatusOr<Sha256> digest = HashNext(*file, 2, [] { return false; });
  ASSERT_TRUE(digest.ok()) << digest.status();
  Sha256 expected;
  expected.Update("ab");
  EXPECT_EQ(digest->Current(), expected.Current());
  digest->Update("c");
  expected.Update("c");
  EXPECT_EQ(digest->Current(), expected.Current());
}

TEST_F(FileDigestTest, EndsWhenNobodyWaits) {
  absl::StatusOr<SourceFile> file = SourceFile::Open(path_);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(HashNext(*file, 2, [] { return true; }).status().code(), absl::StatusCode::kCancelled);
}

TEST_F(FileDigestTest, MissingBytesAreAborted) {
  absl::StatusOr<SourceFile> file = SourceFile::Open(path_);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(HashNext(*file, 7, [] { return false; }).status().code(), absl::StatusCode::kAborted);
}

}  // namespace
}  // namespace verbena::examples
