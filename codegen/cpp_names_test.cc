#include "codegen/cpp_names.h"

#include "gtest/gtest.h"

namespace verbena::codegen {
namespace {

using Names = std::vector<std::string>;

TEST(IsCppKeyword, FirstLastAndCpp20OnesAreFound) {
  for (const char* name : {"NULL", "alignas", "class", "co_await", "concept", "const", "const_cast", "consteval",
                           "delete", "reinterpret_cast", "requires", "xor", "xor_eq"}) {
    EXPECT_TRUE(IsCppKeyword(name)) << name;
  }
}

TEST(IsCppKeyword, IsExact) {
  for (const char* name : {"", "Class", "clas", "class_", "override", "final", "import"}) {
    EXPECT_FALSE(IsCppKeyword(name)) << name;
  }
}

TEST(IsMacro, ThoseOfTheCLibraryAndOfGoogleTestAreFound) {
  for (const char* name : {"ACTION", "ASSERT_EQ", "EOF", "EXPECT_CALL", "FAIL", "MOCK_METHOD", "TEST", "TYPED_TEST",
                           "assert", "errno", "unix"}) {
    EXPECT_TRUE(IsMacro(name)) << name;
  }
}

TEST(IsMacro, IsExact) {
  for (const char* name : {"", "Test", "TESTS", "Assert", "ASSERT", "assert_", "EXPECT", "fail"}) {
    EXPECT_FALSE(IsMacro(name)) << name;
  }
}

TEST(DistinctCppNames, MacroGetsAnUnderscore) {
  EXPECT_EQ(DistinctCppNames({"assert", "TEST", "EXPECT_CALL"}, {}), (Names{"assert_", "TEST_", "EXPECT_CALL_"}));
}

TEST(DistinctCppNames, OrdinaryNamesStay) {
  EXPECT_EQ(DistinctCppNames({"SayHello", "say_hello"}, {"Stub"}), (Names{"SayHello", "say_hello"}));
}

TEST(DistinctCppNames, KeywordGetsAnUnderscore) {
  EXPECT_EQ(DistinctCppNames({"delete", "Get"}, {}), (Names{"delete_", "Get"}));
}

TEST(DistinctCppNames, ReservedNameGetsAnUnderscore) {
  EXPECT_EQ(DistinctCppNames({"async"}, {"async", "async_"}), (Names{"async__"}));
}

TEST(DistinctCppNames, EscapedNameAvoidsOneThatIsTaken) {
  EXPECT_EQ(DistinctCppNames({"delete", "delete_", "delete__"}, {}), (Names{"delete___", "delete_", "delete__"}));
}

TEST(IdentifierFor, DifferentPathsGiveDifferentIdentifiers) {
  EXPECT_EQ(IdentifierFor("a/b.proto"), "a_2fb_2eproto");
  EXPECT_NE(IdentifierFor("a-b.proto"), IdentifierFor("a_b.proto"));
}

TEST(IdentifierFor, BytesBeyondAsciiAreEscaped) { EXPECT_EQ(IdentifierFor("\xc3\xa9"), "_c3_a9"); }

}  // namespace
}  // namespace verbena::codegen
