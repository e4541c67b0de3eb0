// Names in C++ for names in a .proto. Pure.
//
// Message types are named by libprotoc itself (QualifiedClassName), so that they always agree with the .pb.h; what is
// here is for the classes and functions that this generator adds.

#ifndef VERBENA_CODEGEN_CPP_NAMES_H_
#define VERBENA_CODEGEN_CPP_NAMES_H_

#include <set>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace verbena::codegen {

// Whether `name` is a keyword of C++20 (or NULL, a macro everywhere) and so cannot name anything.
bool IsCppKeyword(absl::string_view name);

// Whether `name` is a macro that stands in many programs or in any test: of the C library (assert, errno) or of
// GoogleTest (TEST, EXPECT_CALL). A function cannot be declared by that name behind the header that has it.
bool IsMacro(absl::string_view name);

// The C++ names of `names`, in the same order and all different: each name itself where possible; one that is a
// keyword, a macro or in `reserved` gets underscores appended until it is like no other.
std::vector<std::string> DistinctCppNames(const std::vector<std::string>& names, const std::set<std::string>& reserved);

// An identifier made of any text: letters and digits stay, any other byte becomes "_" and its two hexadecimal digits,
// so that different texts give different identifiers ("a-b.proto" and "a_b.proto").
std::string IdentifierFor(absl::string_view text);

}  // namespace verbena::codegen

#endif  // VERBENA_CODEGEN_CPP_NAMES_H_
