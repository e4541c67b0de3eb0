// protoc-gen-verbena: a protoc plugin. protoc runs it and talks to it over standard input and output:
//   protoc --plugin=protoc-gen-verbena=PATH --cpp_out=DIR --verbena_out=DIR greeter.proto

#include "codegen/generator.h"
#include "google/protobuf/compiler/plugin.h"

int main(int argc, char** argv) {
  const verbena::codegen::Generator generator;
  return google::protobuf::compiler::PluginMain(argc, argv, &generator);
}
