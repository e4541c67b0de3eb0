#include "codegen/options.h"

#include "gtest/gtest.h"

namespace verbena::codegen {
namespace {

void ExpectError(const std::string& parameter, const std::string& words) {
  const absl::StatusOr<Options> options = ParseOptions(parameter);
  ASSERT_FALSE(options.ok()) << parameter;
  EXPECT_NE(std::string(options.status().message()).find(words), std::string::npos) << options.status();
}

TEST(ParseOptions, EmptyParameterGivesDefaults) {
  const absl::StatusOr<Options> options = ParseOptions("");
  ASSERT_TRUE(options.ok()) << options.status();
  EXPECT_EQ(options->runtime_include_dir, "");
}

TEST(ParseOptions, DirectoryEndsWithOneSlash) {
  EXPECT_EQ(ParseOptions("runtime_include_dir=verbena")->runtime_include_dir, "verbena/");
  EXPECT_EQ(ParseOptions("runtime_include_dir=verbena/")->runtime_include_dir, "verbena/");
}

TEST(ParseOptions, UnknownOptionIsNamedWithThoseThatExist) {
  ExpectError("colour=red", "unknown option 'colour'; the options are: runtime_include_dir=DIR");
}

TEST(ParseOptions, MissingValueIsAnError) {
  ExpectError("runtime_include_dir", "needs a value");
  ExpectError("runtime_include_dir=", "needs a value");
}

TEST(ParseOptions, OptionGivenTwiceIsAnError) {
  ExpectError("runtime_include_dir=a,runtime_include_dir=b", "given twice");
}

}  // namespace
}  // namespace verbena::codegen
