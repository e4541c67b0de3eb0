#include "examples/filecopy/partial_file.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "gtest/gtest.h"

namespace verbena::examples {
namespace {

class PartialFileTest : public ::testing::Test {
 protected:
  PartialFileTest() : directory_(::testing::TempDir() + "/partial_file_test") {
    std::filesystem::remove_all(directory_);
    std::filesystem::create_directory(directory_);
  }
  ~PartialFileTest() override { std::filesystem::remove_all(directory_); }

  int FileCount() const { return static_cast<int>(std::distance(std::filesystem::directory_iterator(directory_), {})); }
  std::string ReadBack(const std::string& name) const {
    std::ifstream file(directory_ + "/" + name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  // Makes a partial file of "a", for `bytes` bytes, that has received `beginning`.
  void Leave(const std::string& beginning, uint64_t bytes) {
    absl::StatusOr<PartialFile> file = PartialFile::Open(directory_, "a", bytes, false);
    ASSERT_TRUE(file.ok()) << file.status();
    EXPECT_TRUE(file->WriteAt(0, beginning).ok());
    EXPECT_TRUE(file->SetReceived(beginning.size()).ok());
  }

  const std::string directory_;
};

TEST_F(PartialFileTest, CommittedFileHasItsNameAndBytes) {
  absl::StatusOr<PartialFile> file = PartialFile::Open(directory_, "a", 6, false);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_TRUE(file->WriteAt(3, "def").ok());
  EXPECT_TRUE(file->WriteAt(0, "abc").ok());
  EXPECT_FALSE(std::filesystem::exists(directory_ + "/a"));
  EXPECT_TRUE(file->Commit().ok());
  EXPECT_EQ(ReadBack("a"), "abcdef");
  EXPECT_EQ(FileCount(), 1);
}

TEST_F(PartialFileTest, FileThatReceivedNothingLeavesNothing) {
  {
    absl::StatusOr<PartialFile> file = PartialFile::Open(directory_, "a", 3, false);
    ASSERT_TRUE(file.ok()) << file.status();
    EXPECT_EQ(FileCount(), 1);
  }
  EXPECT_EQ(FileCount(), 0);
}

TEST_F(PartialFileTest, WhatWasReceivedIsGoneOnWith) {
  Leave("abc", 6);
  absl::StatusOr<PartialFile> file = PartialFile::Open(directory_, "a", 6, false);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->received(), 3u);
  EXPECT_EQ(file->dropped(), 0u);
  EXPECT_TRUE(file->WriteAt(3, "def").ok());
  EXPECT_TRUE(file->Commit().ok());
  EXPECT_EQ(ReadBack("a"), "abcdef");
  EXPECT_EQ(FileCount(), 1);
}

TEST_F(PartialFileTest, FileOfAnotherSizeStartsAnew) {
  Leave("abc", 6);
  absl::StatusOr<PartialFile> file = PartialFile::Open(directory_, "a", 7, false);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->received(), 0u);
  EXPECT_EQ(file->dropped(), 3u);
}

TEST_F(PartialFileTest, StartsAnewWhenAsked) {
  Leave("abc", 6);
  absl::StatusOr<PartialFile> file = PartialFile::Open(directory_, "a", 6, true);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->received(), 0u);
  EXPECT_EQ(file->dropped(), 3u);
}

TEST_F(PartialFileTest, TruncatedFileStartsAnew) {
  Leave("abc", 6);
  for (const uint64_t size : {29, 3, 0}) {
    std::filesystem::resize_file(directory_ + "/.a.partial", size);
    absl::StatusOr<PartialFile> file = PartialFile::Open(directory_, "a", 6, false);
    ASSERT_TRUE(file.ok()) << file.status();
    EXPECT_EQ(file->received(), 0u) << size;
    EXPECT_TRUE(file->SetReceived(3).ok());
  }
}

TEST_F(PartialFileTest, LockedFileIsAborted) {
  absl::StatusOr<PartialFile> file = PartialFile::Open(directory_, "a", 3, false);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(PartialFile::Open(directory_, "a", 3, false).status().code(), absl::StatusCode::kAborted);
  EXPECT_TRUE(file->WriteAt(0, "abc").ok());
  EXPECT_TRUE(file->Commit().ok());
  EXPECT_EQ(ReadBack("a"), "abc");
}

TEST_F(PartialFileTest, WhatIsNoFileIsRefused) {
  std::filesystem::create_symlink(directory_ + "/elsewhere", directory_ + "/.a.partial");
  EXPECT_FALSE(PartialFile::Open(directory_, "a", 3, false).ok());
  EXPECT_FALSE(std::filesystem::exists(directory_ + "/elsewhere"));
  ASSERT_EQ(mkfifo((directory_ + "/.b.partial").c_str(), 0600), 0);
  EXPECT_EQ(PartialFile::Open(directory_, "b", 3, false).status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(PartialFileTest, MovedFromFileRemovesNothing) {
  absl::StatusOr<PartialFile> file = PartialFile::Open(directory_, "a", 0, false);
  ASSERT_TRUE(file.ok()) << file.status();
  {
    PartialFile moved = *std::move(file);
    EXPECT_TRUE(moved.Commit().ok());
  }
  EXPECT_TRUE(std::filesystem::exists(directory_ + "/a"));
}

TEST_F(PartialFileTest, OldFileIsReplacedOnlyByACompleteOne) {
  std::ofstream(directory_ + "/a") << "old";
  absl::StatusOr<PartialFile> file = PartialFile::Open(directory_, "a", 3, false);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_TRUE(file->WriteAt(0, "new").ok());
  EXPECT_EQ(ReadBack("a"), "old");
  EXPECT_TRUE(file->Commit().ok());
  EXPECT_EQ(ReadBack("a"), "new");
}

TEST_F(PartialFileTest, DirectoryOfThatNameIsRefusedAndLeavesNothing) {
  std::filesystem::create_directory(directory_ + "/a");
  const absl::Status status = PartialFile::Open(directory_, "a", 0, false).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(std::string(status.message()).find("is a directory"), std::string::npos) << status;
  EXPECT_EQ(FileCount(), 1);
}

TEST_F(PartialFileTest, MissingDirectoryIsNotFound) {
  EXPECT_EQ(PartialFile::Open(directory_ + "/none", "a", 0, false).status().code(), absl::StatusCode::kNotFound);
}

// A limit on file sizes stands for a full disk: the kernel refuses the same calls.
TEST_F(PartialFileTest, FullDiskIsResourceExhaustedInWords) {
  signal(SIGXFSZ, SIG_IGN);
  rlimit old_limit;
  getrlimit(RLIMIT_FSIZE, &old_limit);
  absl::StatusOr<PartialFile> file = PartialFile::Open(directory_, "a", 0, false);
  ASSERT_TRUE(file.ok()) << file.status();

  rlimit limit = {.rlim_cur = 4096, .rlim_max = old_limit.rlim_max};
  setrlimit(RLIMIT_FSIZE, &limit);
  const absl::Status written = file->WriteAt(4096, "x");
  const absl::Status reserved = PartialFile::Open(directory_, "b", 1 << 20, false).status();
  setrlimit(RLIMIT_FSIZE, &old_limit);

  EXPECT_EQ(written.code(), absl::StatusCode::kResourceExhausted) << written;
  EXPECT_NE(std::string(written.message()).find("cannot write " + directory_ + "/a"), std::string::npos) << written;
  EXPECT_EQ(reserved.code(), absl::StatusCode::kResourceExhausted) << reserved;
  EXPECT_EQ(FileCount(), 1);
}

}  // namespace
}  // namespace verbena::examples
