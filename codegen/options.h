// The plugin's parameter: what stands before the colon of --verbena_out=PARAMETER:DIRECTORY, or in --verbena_opt.

#ifndef VERBENA_CODEGEN_OPTIONS_H_
#define VERBENA_CODEGEN_OPTIONS_H_

#include <string>

#include "absl/status/statusor.h"

namespace verbena::codegen {

struct Options {
  // runtime_include_dir=DIR: where the generated files find Verbena's headers: `#include "DIR/rpc/service.h"`. Empty:
  // `#include "rpc/service.h"`. Ends with a slash when it is not empty.
  std::string runtime_include_dir;
  // generate_mock_code=true: Stub implements a StubInterface, and a third file, FILE_mock.verbena.h, has a MockStub
  // with gMock's methods. False, the default: Stub has no virtual function.
  bool generate_mock_code = false;
};

// Reads "name=value,name=value". Error: InvalidArgument for an unknown name, one given twice, or one without a value
// that it can have; the message lists the options that exist.
absl::StatusOr<Options> ParseOptions(const std::string& parameter);

}  // namespace verbena::codegen

#endif  // VERBENA_CODEGEN_OPTIONS_H_
