// For tests: a .proto given as text, parsed by libprotoc into descriptors with their source positions.

#ifndef VERBENA_CODEGEN_PARSED_FILE_H_
#define VERBENA_CODEGEN_PARSED_FILE_H_

#include <map>
#include <memory>
#include <string>

#include "google/protobuf/descriptor.h"

namespace verbena::codegen {

class ParsedFile {
 public:
  // Parses `files` (path -> text) and what `path`, one of them, imports. A syntax error fails the test.
  ParsedFile(const std::map<std::string, std::string>& files, const std::string& path);
  // One file, without imports.
  explicit ParsedFile(const std::string& text) : ParsedFile({{"test.proto", text}}, "test.proto") {}
  ~ParsedFile();

  const google::protobuf::FileDescriptor& operator*() const { return *file_; }

 private:
  class Sources;
  std::unique_ptr<Sources> sources_;  // Owns the descriptors.
  const google::protobuf::FileDescriptor* file_ = nullptr;
};

}  // namespace verbena::codegen

#endif  // VERBENA_CODEGEN_PARSED_FILE_H_
