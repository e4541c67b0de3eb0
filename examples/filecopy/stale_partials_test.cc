#include "examples/filecopy/stale_partials.h"

#include <filesystem>
#include <fstream>

#include "absl/time/clock.h"
#include "examples/filecopy/partial_file.h"
#include "gtest/gtest.h"

namespace verbena::examples {
namespace {

class StalePartialsTest : public ::testing::Test {
 protected:
  StalePartialsTest() : directory_(::testing::TempDir() + "/stale_partials_test") {
    std::filesystem::remove_all(directory_);
    std::filesystem::create_directory(directory_);
  }
  ~StalePartialsTest() override { std::filesystem::remove_all(directory_); }

  void Make(const std::string& name) { std::ofstream(directory_ + "/" + name) << "x"; }
  bool Exists(const std::string& name) const { return std::filesystem::exists(directory_ + "/" + name); }

  const std::string directory_;
  const absl::Time now_ = absl::Now();
  StalePartials partials_{directory_, absl::Hours(10)};
};

TEST_F(StalePartialsTest, OnlyOldPartialFilesGo) {
  Make(".a.partial");
  Make("b.partial");
  Make(".c");
  partials_.RemoveIfDue(now_ + absl::Hours(9));
  EXPECT_TRUE(Exists(".a.partial"));
  partials_.RemoveIfDue(now_ + absl::Hours(11));
  EXPECT_FALSE(Exists(".a.partial"));
  EXPECT_TRUE(Exists("b.partial"));
  EXPECT_TRUE(Exists(".c"));
}

TEST_F(StalePartialsTest, WhatATransferHasStays) {
  absl::StatusOr<PartialFile> file = PartialFile::Open(directory_, "a", 1, false);
  ASSERT_TRUE(file.ok()) << file.status();
  partials_.RemoveIfDue(now_ + absl::Hours(11));
  EXPECT_TRUE(Exists(".a.partial"));
}

TEST_F(StalePartialsTest, DirectoryIsReadAgainAfterATenthOfTheTime) {
  partials_.RemoveIfDue(now_ + absl::Hours(20));
  Make(".a.partial");
  partials_.RemoveIfDue(now_ + absl::Hours(20) + absl::Minutes(59));
  EXPECT_TRUE(Exists(".a.partial"));
  partials_.RemoveIfDue(now_ + absl::Hours(21));
  EXPECT_FALSE(Exists(".a.partial"));
}

TEST_F(StalePartialsTest, MissingDirectoryIsNoError) {
  StalePartials none(directory_ + "/none", absl::Hours(1));
  none.RemoveIfDue(now_);
  EXPECT_FALSE(Exists("none"));
}

}  // namespace
}  // namespace verbena::examples
