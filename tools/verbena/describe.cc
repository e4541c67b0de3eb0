#include "tools/verbena/describe.h"

#include "absl/status/statusor.h"
#include "absl/strings/str_replace.h"

namespace verbena::tools {

absl::Status RunDescribe(ServerSchema& schema, const std::string& symbol, std::ostream& output) {
  const absl::StatusOr<std::string> text = schema.Describe(absl::StrReplaceAll(symbol, {{"/", "."}}));
  if (text.ok()) output << *text;
  return text.status();
}

}  // namespace verbena::tools
