#include "codegen/options.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "google/protobuf/compiler/code_generator.h"

namespace verbena::codegen {
namespace {

constexpr char kRuntimeIncludeDir[] = "runtime_include_dir";

}  // namespace

absl::StatusOr<Options> ParseOptions(const std::string& parameter) {
  std::vector<std::pair<std::string, std::string>> pairs;
  google::protobuf::compiler::ParseGeneratorParameter(parameter, &pairs);

  Options options;
  for (const auto& [name, value] : pairs) {
    if (name != kRuntimeIncludeDir) {
      return absl::InvalidArgumentError(
          absl::StrCat("unknown option '", name, "'; the options are: ", kRuntimeIncludeDir, "=DIR"));
    }
    if (value.empty()) {
      return absl::InvalidArgumentError(absl::StrCat("option ", name, " needs a value: ", name, "=DIR"));
    }
    if (!options.runtime_include_dir.empty()) {
      return absl::InvalidArgumentError(absl::StrCat("option ", name, " is given twice"));
    }
    options.runtime_include_dir = value.back() == '/' ? value : value + "/";
  }
  return options;
}

}  // namespace verbena::codegen
