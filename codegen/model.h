// What is generated, as plain values: everything that the printers need and nothing of libprotoc.
//
// A model is made by ReadFile (descriptor_reader.h), is valid C++ by construction (names are escaped, types are
// qualified) and is printed by header_printer.h and source_printer.h.

#ifndef VERBENA_CODEGEN_MODEL_H_
#define VERBENA_CODEGEN_MODEL_H_

#include <string>
#include <vector>

namespace verbena::codegen {

// Lines of a comment, without the slashes and without line ends: " Says hello.".
using Comment = std::vector<std::string>;

struct MethodModel {
  std::string wire_name;     // As in the .proto: "SayHello".
  std::string cpp_name;      // The member function: wire_name unless that cannot be one ("delete" -> "delete_").
  std::string path;          // What goes over the wire: "demo.Greeter/SayHello".
  std::string request_type;  // Qualified from the global namespace: "::demo::HelloRequest".
  std::string reply_type;
  bool client_streams = false;
  bool server_streams = false;
  Comment comment;
};

struct ServiceModel {
  std::string full_name;  // "demo.Greeter".
  std::string cpp_name;   // The class: "Greeter".
  Comment comment;
  std::vector<MethodModel> methods;  // In the order of the .proto; may be empty.
};

struct FileModel {
  std::string proto_path;               // "demo/greeter.proto", as protoc was given it.
  std::string messages_header;          // "demo/greeter.pb.h", made by protoc itself.
  std::string stubs_header;             // "demo/greeter.verbena.h".
  std::string mock_header;              // "demo/greeter_mock.verbena.h".
  std::string stubs_source;             // "demo/greeter.verbena.cc".
  std::string include_guard;            // Unique for each proto_path.
  std::vector<std::string> namespaces;  // Outermost first; empty: no package.
  bool has_streams = false;             // Some method streams.
  std::vector<ServiceModel> services;   // May be empty: the files are then made all the same, for build rules.
};

}  // namespace verbena::codegen

#endif  // VERBENA_CODEGEN_MODEL_H_
