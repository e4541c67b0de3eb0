#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "absl/time/clock.h"
#include "rpc/names/name_source.h"
#include "rpc/names/testing/temporary_folder.h"
#include "rpc/names/testing/watched_lists.h"

namespace verbena::rpc {
namespace {

class FileLookupTest : public testing::Test {
 protected:
  // Nothing is read but for a reason, unless the test says otherwise.
  void Watch(const std::string& name, absl::Duration interval = absl::Hours(1)) {
    NameSourceOptions options;
    options.file_interval = interval;
    source_ = NameSource::Create("file://" + folder_.Path(name), TellTo(told_), options).value();
  }
  std::string Error(const std::string& name, const std::string& words) const {
    return "INVALID_ARGUMENT: " + folder_.Path(name) + ": " + words;
  }

  TemporaryFolder folder_;
  Told told_;
  std::unique_ptr<NameSource> source_;
};

TEST_F(FileLookupTest, RenamedFileIsSeen) {
  folder_.Write("servers", "a:1 2\n");
  Watch("servers");
  EXPECT_EQ(told_.Next(), "a:1*2");
  folder_.Replace("servers", "a:1\nb:1\n");
  EXPECT_EQ(told_.Next(), "a:1 b:1");
  folder_.Replace("servers", "b:1\n");
  EXPECT_EQ(told_.Next(), "b:1");
}

TEST_F(FileLookupTest, FileWrittenInPlaceIsSeen) {
  folder_.Write("servers", "a:1\n");
  Watch("servers");
  EXPECT_EQ(told_.Next(), "a:1");
  folder_.Write("servers", "b:1\n");
  EXPECT_EQ(told_.Next(), "b:1");
}

TEST_F(FileLookupTest, BadContentIsToldWithItsLineAndGoodContentAgain) {
  folder_.Write("servers", "a:1\n");
  Watch("servers");
  EXPECT_EQ(told_.Next(), "a:1");
  folder_.Replace("servers", "a:1\nnonsense\n");
  EXPECT_EQ(told_.Next(), Error("servers", "line 2: \"nonsense\": the port is missing; write host:port"));
  folder_.Replace("servers", "a:1\n");
  EXPECT_EQ(told_.Next(), "a:1");
}

TEST_F(FileLookupTest, ABusyFolderIsReadNoMoreThanTwentyTimesASecond) {
  folder_.Write("servers", "a:1\n");
  Watch("servers");
  EXPECT_EQ(told_.Next(), "a:1");
  const absl::Time begin = absl::Now();
  for (int i = 0; i < 1000 || absl::Now() - begin < absl::Milliseconds(200); ++i) {
    folder_.Replace("servers", i % 2 == 0 ? "b:1\n" : "a:1\n");
  }
  folder_.Replace("servers", "last:1\n");
  int told = 1;
  for (std::string next = told_.Next(); next != "last:1"; next = told_.Next()) {
    ASSERT_NE(next, "nothing");
    ++told;
  }
  EXPECT_LE(told, (absl::Now() - begin) / absl::Milliseconds(50) + 1);
}

TEST_F(FileLookupTest, FileThatComesLaterIsSeen) {
  Watch("servers");
  EXPECT_EQ(told_.Next(), "NOT_FOUND: " + folder_.Path("servers") + ": No such file or directory");
  folder_.Replace("servers", "a:1\n");
  EXPECT_EQ(told_.Next(), "a:1");
}

TEST_F(FileLookupTest, SameContentIsNoChange) {
  folder_.Write("servers", "a:1\n");
  Watch("servers");
  EXPECT_EQ(told_.Next(), "a:1");
  folder_.Replace("servers", "a:1 # as before\n");
  folder_.Replace("servers", "b:1\n");
  EXPECT_EQ(told_.Next(), "b:1");
}

// As Kubernetes replaces what it mounts: servers -> ..data/servers, ..data -> a folder of this version.
TEST_F(FileLookupTest, SwitchedLinkIsSeen) {
  for (const std::string version : {"1", "2"}) {
    std::filesystem::create_directory(folder_.Path("version" + version));
    folder_.Write("version" + version + "/servers", "a:" + version + "\n");
  }
  std::filesystem::create_symlink("version1", folder_.Path("..data"));
  std::filesystem::create_symlink("..data/servers", folder_.Path("servers"));
  Watch("servers");
  EXPECT_EQ(told_.Next(), "a:1");
  std::filesystem::create_symlink("version2", folder_.Path("..next"));
  std::filesystem::rename(folder_.Path("..next"), folder_.Path("..data"));
  EXPECT_EQ(told_.Next(), "a:2");
}

// The folder that was left is still there, and nothing happens in it.
TEST_F(FileLookupTest, FolderThatALinkWasSwitchedToIsWatched) {
  for (const std::string version : {"1", "2"}) {
    std::filesystem::create_directory(folder_.Path("version" + version));
    folder_.Write("version" + version + "/servers", "a:" + version + "\n");
  }
  std::filesystem::create_symlink("version1", folder_.Path("current"));
  Watch("current/servers");
  EXPECT_EQ(told_.Next(), "a:1");
  std::filesystem::create_symlink("version2", folder_.Path("next"));
  std::filesystem::rename(folder_.Path("next"), folder_.Path("current"));
  source_->Refresh();
  EXPECT_EQ(told_.Next(), "a:2");
  folder_.Replace("current/servers", "b:2\n");
  EXPECT_EQ(told_.Next(), "b:2");
}

TEST_F(FileLookupTest, FolderThatIsRemovedAndMadeAgainIsWatchedAgain) {
  std::filesystem::create_directory(folder_.Path("etc"));
  folder_.Write("etc/servers", "a:1\n");
  Watch("etc/servers", absl::Milliseconds(20));
  EXPECT_EQ(told_.Next(), "a:1");
  std::filesystem::remove_all(folder_.Path("etc"));
  EXPECT_EQ(told_.Next(), "NOT_FOUND: " + folder_.Path("etc/servers") + ": No such file or directory");
  std::filesystem::create_directory(folder_.Path("etc"));
  folder_.Replace("etc/servers", "b:1\n");
  EXPECT_EQ(told_.Next(), "b:1");
  folder_.Replace("etc/servers", "c:1\n");
  EXPECT_EQ(told_.Next(), "c:1");
}

TEST_F(FileLookupTest, WhatInotifyDoesNotSeeIsSeenAtTheInterval) {
  std::filesystem::create_directory(folder_.Path("far"));
  folder_.Write("far/servers", "a:1\n");
  std::filesystem::create_symlink("far/servers", folder_.Path("servers"));
  Watch("servers", absl::Milliseconds(20));
  EXPECT_EQ(told_.Next(), "a:1");
  folder_.Replace("far/servers", "b:1\n");
  EXPECT_EQ(told_.Next(), "b:1");
}

TEST_F(FileLookupTest, RefreshReadsTheFile) {
  std::filesystem::create_directory(folder_.Path("far"));
  folder_.Write("far/servers", "a:1\n");
  std::filesystem::create_symlink("far/servers", folder_.Path("servers"));
  Watch("servers");
  EXPECT_EQ(told_.Next(), "a:1");
  folder_.Replace("far/servers", "b:1\n");
  source_->Refresh();
  EXPECT_EQ(told_.Next(), "b:1");
}

TEST_F(FileLookupTest, FileThatIsNoTextOrTooLongIsAnError) {
  folder_.Write("servers", std::string(100, '\0'));
  Watch("servers");
  EXPECT_EQ(told_.Next().substr(0, 16), "INVALID_ARGUMENT");
  folder_.Replace("servers", std::string(5 << 20, '#'));
  EXPECT_EQ(told_.Next(), "RESOURCE_EXHAUSTED: " + folder_.Path("servers") + ": more than 4194304 bytes");
}

// Nobody may ever write to a pipe, and who ends the channel would wait for him.
TEST_F(FileLookupTest, WhatIsNoFileIsAnErrorAtOnce) {
  ASSERT_EQ(mkfifo(folder_.Path("servers").c_str(), 0600), 0);
  Watch("servers");
  EXPECT_EQ(told_.Next(), Error("servers", "not a regular file"));
  folder_.Replace("servers", "a:1\n");
  EXPECT_EQ(told_.Next(), "a:1");
}

}  // namespace
}  // namespace verbena::rpc
