// The generator as protoc knows it: one .proto in, one .verbena.h and one .verbena.cc out, and on request one
// _mock.verbena.h.

#ifndef VERBENA_CODEGEN_GENERATOR_H_
#define VERBENA_CODEGEN_GENERATOR_H_

#include <cstdint>
#include <string>
#include <vector>

#include "google/protobuf/compiler/code_generator.h"

namespace verbena::codegen {

// Stateless; libprotoc calls it once for each file. Errors are reported in words, and then nothing is written.
class Generator final : public google::protobuf::compiler::CodeGenerator {
 public:
  bool GenerateAll(const std::vector<const google::protobuf::FileDescriptor*>& files, const std::string& parameter,
                   google::protobuf::compiler::GeneratorContext* context, std::string* error) const override;
  bool Generate(const google::protobuf::FileDescriptor* file, const std::string& parameter,
                google::protobuf::compiler::GeneratorContext* context, std::string* error) const override;
  uint64_t GetSupportedFeatures() const override { return FEATURE_PROTO3_OPTIONAL; }
};

}  // namespace verbena::codegen

#endif  // VERBENA_CODEGEN_GENERATOR_H_
