#include "examples/daemon/flags_alone.h"

#include <iostream>

#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/strings/str_cat.h"

namespace verbena::examples {

bool ParseFlagsAlone(int argc, char** argv, absl::string_view usage) {
  absl::SetProgramUsageMessage(usage);
  if (absl::ParseCommandLine(argc, argv).size() == 1) return true;
  const absl::string_view program = argv[0];
  std::cerr << absl::StrCat(program.substr(program.rfind('/') + 1), ": takes flags alone; see --help\n");
  return false;
}

}  // namespace verbena::examples
