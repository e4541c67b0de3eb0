#include "codegen/cpp_names.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace verbena::codegen {
namespace {

// [lex.key] and the alternative tokens of C++20, sorted.
constexpr absl::string_view kKeywords[] = {
    "NULL",         "alignas",   "alignof",       "and",
    "and_eq",       "asm",       "auto",          "bitand",
    "bitor",        "bool",      "break",         "case",
    "catch",        "char",      "char16_t",      "char32_t",
    "char8_t",      "class",     "co_await",      "co_return",
    "co_yield",     "compl",     "concept",       "const",
    "const_cast",   "consteval", "constexpr",     "constinit",
    "continue",     "decltype",  "default",       "delete",
    "do",           "double",    "dynamic_cast",  "else",
    "enum",         "explicit",  "export",        "extern",
    "false",        "float",     "for",           "friend",
    "goto",         "if",        "inline",        "int",
    "long",         "mutable",   "namespace",     "new",
    "noexcept",     "not",       "not_eq",        "nullptr",
    "operator",     "or",        "or_eq",         "private",
    "protected",    "public",    "register",      "reinterpret_cast",
    "requires",     "return",    "short",         "signed",
    "sizeof",       "static",    "static_assert", "static_cast",
    "struct",       "switch",    "template",      "this",
    "thread_local", "throw",     "true",          "try",
    "typedef",      "typeid",    "typename",      "union",
    "unsigned",     "using",     "virtual",       "void",
    "volatile",     "wchar_t",   "while",         "xor",
    "xor_eq",
};

// Sorted. GoogleTest's families of macros are told by how they begin.
constexpr absl::string_view kMacros[] = {
    "ACTION",     "ADD_FAILURE",   "ADD_FAILURE_AT", "EOF",     "FAIL",     "FRIEND_TEST", "MATCHER",
    "ON_CALL",    "RUN_ALL_TESTS", "SCOPED_TRACE",   "SUCCEED", "TEST",     "TEST_F",      "TEST_P",
    "TYPED_TEST", "assert",        "errno",          "linux",   "offsetof", "setjmp",      "unix",
};
constexpr absl::string_view kMacroPrefixes[] = {
    "ACTION_P", "ACTION_TEMPLATE",      "ASSERT_",     "EXPECT_", "GMOCK_", "GTEST_", "INSTANTIATE_T", "MATCHER_P",
    "MOCK_",    "REGISTER_TYPED_TEST_", "TYPED_TEST_",
};

}  // namespace

bool IsCppKeyword(absl::string_view name) {
  return std::binary_search(std::begin(kKeywords), std::end(kKeywords), name);
}

bool IsMacro(absl::string_view name) {
  return std::binary_search(std::begin(kMacros), std::end(kMacros), name) ||
         std::any_of(std::begin(kMacroPrefixes), std::end(kMacroPrefixes),
                     [name](absl::string_view prefix) { return absl::StartsWith(name, prefix); });
}

std::vector<std::string> DistinctCppNames(const std::vector<std::string>& names,
                                          const std::set<std::string>& reserved) {
  std::set<std::string> taken = reserved;
  taken.insert(names.begin(), names.end());
  std::vector<std::string> result;
  for (const std::string& name : names) {
    std::string cpp_name = name;
    if (IsCppKeyword(name) || IsMacro(name) || reserved.count(name) != 0) {
      do {
        cpp_name += '_';
      } while (!taken.insert(cpp_name).second);
    }
    result.push_back(std::move(cpp_name));
  }
  return result;
}

std::string IdentifierFor(absl::string_view text) {
  std::string identifier;
  for (const char c : text) {
    if (absl::ascii_isalnum(static_cast<unsigned char>(c))) {
      identifier += c;
    } else {
      absl::StrAppend(&identifier, "_", absl::Hex(static_cast<unsigned char>(c), absl::kZeroPad2));
    }
  }
  return identifier;
}

}  // namespace verbena::codegen
