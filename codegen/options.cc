#include "codegen/options.h"

#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "google/protobuf/compiler/code_generator.h"

namespace verbena::codegen {
namespace {

constexpr char kRuntimeIncludeDir[] = "runtime_include_dir";
constexpr char kGenerateMockCode[] = "generate_mock_code";

absl::Status Needs(const char* name, const char* value) {
  return absl::InvalidArgumentError(absl::StrCat("option ", name, " needs a value: ", name, "=", value));
}

absl::Status SetOption(const std::string& name, const std::string& value, Options* options) {
  if (name == kRuntimeIncludeDir) {
    if (value.empty()) return Needs(kRuntimeIncludeDir, "DIR");
    options->runtime_include_dir = value.back() == '/' ? value : value + "/";
    return absl::OkStatus();
  }
  if (name == kGenerateMockCode) {
    if (value != "true" && value != "false") return Needs(kGenerateMockCode, "true|false");
    options->generate_mock_code = value == "true";
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("unknown option '", name, "'; the options are: ", kRuntimeIncludeDir,
                                                 "=DIR, ", kGenerateMockCode, "=true|false"));
}

}  // namespace

absl::StatusOr<Options> ParseOptions(const std::string& parameter) {
  std::vector<std::pair<std::string, std::string>> pairs;
  google::protobuf::compiler::ParseGeneratorParameter(parameter, &pairs);

  Options options;
  std::set<std::string> given;
  for (const auto& [name, value] : pairs) {
    if (!given.insert(name).second) {
      return absl::InvalidArgumentError(absl::StrCat("option ", name, " is given twice"));
    }
    if (absl::Status set = SetOption(name, value, &options); !set.ok()) return set;
  }
  return options;
}

}  // namespace verbena::codegen
