// From libprotoc's descriptors to the plain model. All that can be wrong with a .proto, from this generator's point of
// view, is found here.

#ifndef VERBENA_CODEGEN_DESCRIPTOR_READER_H_
#define VERBENA_CODEGEN_DESCRIPTOR_READER_H_

#include <string>

#include "absl/status/statusor.h"
#include "codegen/model.h"
#include "google/protobuf/descriptor.h"

namespace verbena::codegen {

// Reads `file`, which protoc has already found correct. Error: InvalidArgument, whose message has
// one line for each thing that is wrong, as "file: what".
absl::StatusOr<FileModel> ReadFile(const google::protobuf::FileDescriptor& file);

// The names of the headers with the stubs of `file`, and with its mocks.
std::string StubsHeaderOf(const google::protobuf::FileDescriptor& file);
std::string MockHeaderOf(const google::protobuf::FileDescriptor& file);

}  // namespace verbena::codegen

#endif  // VERBENA_CODEGEN_DESCRIPTOR_READER_H_
