#include "examples/filecopy/source_file.h"

#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "gtest/gtest.h"

namespace verbena::examples {
namespace {

class SourceFileTest : public ::testing::Test {
 protected:
  SourceFileTest() : path_(::testing::TempDir() + "/source_file_test") { std::ofstream(path_) << "abcdef"; }
  ~SourceFileTest() override { std::filesystem::remove(path_); }

  const std::string path_;
  std::byte bytes_[16] = {};
};

TEST_F(SourceFileTest, FileIsReadToItsEnd) {
  absl::StatusOr<SourceFile> file = SourceFile::Open(path_);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->size(), 6u);
  EXPECT_TRUE(file->Read(absl::MakeSpan(bytes_, 4)).ok());
  EXPECT_TRUE(file->Read(absl::MakeSpan(bytes_ + 4, 2)).ok());
  EXPECT_EQ(std::string(reinterpret_cast<char*>(bytes_), 6), "abcdef");
  EXPECT_TRUE(file->CheckUnchanged().ok());
}

TEST_F(SourceFileTest, ShrinkingFileIsAborted) {
  absl::StatusOr<SourceFile> file = SourceFile::Open(path_);
  ASSERT_TRUE(file.ok());
  std::filesystem::resize_file(path_, 3);
  EXPECT_EQ(file->Read(absl::MakeSpan(bytes_, 6)).code(), absl::StatusCode::kAborted);
}

TEST_F(SourceFileTest, GrowingFileIsAborted) {
  absl::StatusOr<SourceFile> file = SourceFile::Open(path_);
  ASSERT_TRUE(file.ok());
  std::filesystem::resize_file(path_, 7);
  EXPECT_TRUE(file->Read(absl::MakeSpan(bytes_, 6)).ok());
  EXPECT_EQ(file->CheckUnchanged().code(), absl::StatusCode::kAborted);
}

TEST_F(SourceFileTest, FileOfAnotherTimeIsAborted) {
  absl::StatusOr<SourceFile> file = SourceFile::Open(path_);
  ASSERT_TRUE(file.ok());
  std::filesystem::last_write_time(path_, std::filesystem::last_write_time(path_) + std::chrono::seconds(1));
  EXPECT_TRUE(file->Read(absl::MakeSpan(bytes_, 6)).ok());
  EXPECT_EQ(file->CheckUnchanged().code(), absl::StatusCode::kAborted);
}

TEST_F(SourceFileTest, FileThatHasMoreThanItsSizeIsRefused) {
  absl::StatusOr<SourceFile> file = SourceFile::Open("/proc/self/status");
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->size(), 0u);
  EXPECT_EQ(file->CheckUnchanged().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(SourceFileTest, RemovedFileIsReadToItsEnd) {
  absl::StatusOr<SourceFile> file = SourceFile::Open(path_);
  ASSERT_TRUE(file.ok());
  std::filesystem::remove(path_);
  EXPECT_TRUE(file->Read(absl::MakeSpan(bytes_, 6)).ok());
  EXPECT_TRUE(file->CheckUnchanged().ok());
}

TEST_F(SourceFileTest, RewoundFileIsReadAgain) {
  absl::StatusOr<SourceFile> file = SourceFile::Open(path_);
  ASSERT_TRUE(file.ok());
  EXPECT_TRUE(file->Read(absl::MakeSpan(bytes_, 5)).ok());
  EXPECT_TRUE(file->Rewind().ok());
  EXPECT_TRUE(file->Read(absl::MakeSpan(bytes_, 2)).ok());
  EXPECT_EQ(std::string(reinterpret_cast<char*>(bytes_), 2), "ab");
}

TEST_F(SourceFileTest, WhatIsNoFileIsRefusedInWords) {
  EXPECT_EQ(SourceFile::Open(path_ + ".none").status().code(), absl::StatusCode::kNotFound);
  const absl::Status directory = SourceFile::Open(::testing::TempDir()).status();
  EXPECT_NE(std::string(directory.message()).find("is a directory"), std::string::npos) << directory;
  const std::string pipe = path_ + ".pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(SourceFile::Open(pipe).status().code(), absl::StatusCode::kInvalidArgument);
  std::filesystem::remove(pipe);
}

}  // namespace
}  // namespace verbena::examples
