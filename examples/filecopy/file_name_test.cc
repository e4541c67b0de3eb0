#include "examples/filecopy/file_name.h"

#include <string>

#include "gtest/gtest.h"

namespace verbena::examples {
namespace {

TEST(CheckFileName, PlainNamesAreAccepted) {
  for (const char* name : {"a", "report.tar.gz", "with space", "\xc3\xa4\xc3\xb6.txt", "a..b", "-rf"}) {
    EXPECT_TRUE(CheckFileName(name).ok()) << name;
  }
  EXPECT_TRUE(CheckFileName(std::string(kFileNameBytesMax, 'x')).ok());
}

TEST(CheckFileName, NamesThatLeadElsewhereAreRefused) {
  for (const char* name : {"..", ".", "../etc/passwd", "/etc/passwd", "a/b", "a/../../b", "a/", ".hidden"}) {
    EXPECT_EQ(CheckFileName(name).code(), absl::StatusCode::kInvalidArgument) << name;
  }
}

TEST(CheckFileName, UnusableNamesAreRefused) {
  EXPECT_FALSE(CheckFileName("").ok());
  EXPECT_FALSE(CheckFileName(std::string(kFileNameBytesMax + 1, 'x')).ok());
  EXPECT_FALSE(CheckFileName(absl::string_view("a\0b", 3)).ok());
  EXPECT_FALSE(CheckFileName("a\nb").ok());
}

TEST(CheckFileName, ErrorShowsTheNameEscaped) {
  EXPECT_NE(std::string(CheckFileName("a\nb").message()).find("\"a\\nb\""), std::string::npos);
}

}  // namespace
}  // namespace verbena::examples
