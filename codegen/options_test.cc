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
  EXPECT_FALSE(options->generate_mock_code);
}

TEST(ParseOptions, DirectoryEndsWithOneSlash) {
  EXPECT_EQ(ParseOptions("runtime_include_dir=verbena")->runtime_include_dir, "verbena/");
  EXPECT_EQ(ParseOptions("runtime_include_dir=verbena/")->runtime_include_dir, "verbena/");
}

TEST(ParseOptions, MockCodeIsGeneratedOrNot) {
  EXPECT_TRUE(ParseOptions("generate_mock_code=true")->generate_mock_code);
  EXPECT_FALSE(ParseOptions("generate_mock_code=false")->generate_mock_code);
  EXPECT_TRUE(ParseOptions("runtime_include_dir=a,generate_mock_code=true")->generate_mock_code);
  ExpectError("generate_mock_code=yes", "needs a value: generate_mock_code=true|false");
}

TEST(ParseOptions, UnknownOptionIsNamedWithThoseThatExist) {
  ExpectError("colour=red",
              "unknown option 'colour'; the options are: runtime_include_dir=DIR, generate_mock_code=true|false");
}

TEST(ParseOptions, MissingValueIsAnError) {
  ExpectError("runtime_include_dir", "needs a value");
  ExpectError("runtime_include_dir=", "needs a value");
}

TEST(ParseOptions, OptionGivenTwiceIsAnError) {
  ExpectError("runtime_include_dir=a,runtime_include_dir=b", "given twice");
  ExpectError("generate_mock_code=true,generate_mock_code=true", "given twice");
}

}  // namespace
}  // namespace verbena::codegen
