#include "codegen/descriptor_reader.h"

#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "codegen/cpp_names.h"
#include "google/protobuf/compiler/cpp/names.h"
#include "google/protobuf/descriptor.pb.h"

namespace verbena::codegen {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::EnumDescriptor;
using google::protobuf::FileDescriptor;
using google::protobuf::MethodDescriptor;
using google::protobuf::ServiceDescriptor;
using google::protobuf::SourceLocation;

// A class cannot have a member class of its own name, nor name itself within one.
const std::set<std::string>& ReservedServiceNames() {
  static const auto* names = new std::set<std::string>{
      "Stub", "StubInterface", "MockStub", "AsyncInterface", "MockAsync", "Service", "CallbackService", "CoService"};
  return *names;
}

// Without a package a class stands beside the namespaces that generated code names.
const std::set<std::string>& GlobalNamespaces() {
  static const auto* names = new std::set<std::string>{"absl", "google", "std", "testing", "verbena"};
  return *names;
}

template <typename Type>
std::string ClassNameOf(const Type& type) {
  const std::string qualified = google::protobuf::compiler::cpp::QualifiedClassName(&type);
  return qualified.substr(qualified.rfind(':') + 1);
}

void AddNamesOf(const Descriptor& message, std::set<std::string>* names) {
  names->insert(ClassNameOf(message));
  for (int i = 0; i < message.enum_type_count(); ++i) {
    const EnumDescriptor& type = *message.enum_type(i);
    names->insert(ClassNameOf(type));
    for (int j = 0; j < type.value_count(); ++j) {
      names->insert(absl::StrCat(ClassNameOf(type), "_", type.value(j)->name()));
    }
  }
  for (int i = 0; i < message.nested_type_count(); ++i) AddNamesOf(*message.nested_type(i), names);
}

void AddNamesOf(const FileDescriptor& file, absl::string_view package, std::set<const FileDescriptor*>* seen,
                std::set<std::string>* names) {
  if (!seen->insert(&file).second) return;
  for (int i = 0; i < file.dependency_count(); ++i) AddNamesOf(*file.dependency(i), package, seen, names);
  if (file.package() != package) return;
  for (int i = 0; i < file.enum_type_count(); ++i) names->insert(ClassNameOf(*file.enum_type(i)));
  for (int i = 0; i < file.message_type_count(); ++i) AddNamesOf(*file.message_type(i), names);
}

// What the .pb.h has in the namespace of the services. In the .proto they may be different and be alike in C++: protoc
// calls a message Outer.Inner Outer_Inner, and one that is named like a keyword register_.
std::set<std::string> MessageNames(const FileDescriptor& file) {
  std::set<const FileDescriptor*> seen;
  std::set<std::string> names;
  AddNamesOf(file, file.package(), &seen, &names);
  return names;
}

// What a stub or a service has as members besides the methods of the .proto.
const std::set<std::string>& ReservedMethodNames() {
  static const auto* names =
      new std::set<std::string>{// Types.
                                "Stub", "StubInterface", "MockStub", "Async", "AsyncInterface", "MockAsync", "Co",
                                "Service", "CallbackService", "CoService",
                                // Members.
                                "async", "async_", "co", "co_", "channel_", "kFullName", "full_name", "methods",
                                "methods_", "OnServerStart", "OnServerDrain"};
  return *names;
}

void AppendLines(const std::string& text, Comment* comment) {
  if (text.empty()) return;
  for (absl::string_view line : absl::StrSplit(absl::StripSuffix(text, "\n"), '\n')) {
    // A backslash at the end would make the next line of code part of the comment.
    while (!line.empty() && (line.back() == '\\' || absl::ascii_isspace(static_cast<unsigned char>(line.back())))) {
      line.remove_suffix(1);
    }
    comment->emplace_back(line);
  }
}

template <typename Descriptor>
Comment ReadComment(const Descriptor& descriptor) {
  Comment comment;
  SourceLocation location;
  if (descriptor.GetSourceLocation(&location)) {
    AppendLines(location.leading_comments, &comment);
    AppendLines(location.trailing_comments, &comment);
  }
  return comment;
}

MethodModel ReadMethod(const MethodDescriptor& method, std::string cpp_name) {
  MethodModel model;
  model.wire_name = method.name();
  model.cpp_name = std::move(cpp_name);
  model.path = absl::StrCat(method.service()->full_name(), "/", method.name());
  model.request_type = google::protobuf::compiler::cpp::QualifiedClassName(method.input_type());
  model.reply_type = google::protobuf::compiler::cpp::QualifiedClassName(method.output_type());
  model.client_streams = method.client_streaming();
  model.server_streams = method.server_streaming();
  model.comment = ReadComment(method);
  return model;
}

ServiceModel ReadService(const ServiceDescriptor& service, std::string cpp_name) {
  std::vector<std::string> names;
  for (int i = 0; i < service.method_count(); ++i) names.push_back(service.method(i)->name());
  std::vector<std::string> cpp_names = DistinctCppNames(names, ReservedMethodNames());

  ServiceModel model;
  model.full_name = service.full_name();
  model.cpp_name = std::move(cpp_name);
  model.comment = ReadComment(service);
  for (int i = 0; i < service.method_count(); ++i) {
    model.methods.push_back(ReadMethod(*service.method(i), std::move(cpp_names[i])));
  }
  return model;
}

// Things that protoc accepts, but of which it makes C++ that cannot be compiled, or not beside ours.
std::vector<std::string> UnusableOptions(const FileDescriptor& file) {
  std::vector<std::string> errors;
  if (file.service_count() == 0) return errors;
  if (file.options().cc_generic_services()) {
    errors.push_back(absl::StrCat(file.name(), ": option cc_generic_services makes protoc generate classes of the ",
                                  "same names as the services; remove it"));
  }
  for (absl::string_view part : absl::StrSplit(file.package(), '.')) {
    if (IsCppKeyword(part)) {
      errors.push_back(absl::StrCat(file.name(), ": package ", file.package(), ": '", part,
                                    "' is a keyword of C++ and cannot name a namespace"));
    }
  }
  return errors;
}

}  // namespace

std::string StubsHeaderOf(const FileDescriptor& file) {
  return google::protobuf::compiler::cpp::StripProto(file.name()) + ".verbena.h";
}

std::string MockHeaderOf(const FileDescriptor& file) {
  return google::protobuf::compiler::cpp::StripProto(file.name()) + "_mock.verbena.h";
}

absl::StatusOr<FileModel> ReadFile(const FileDescriptor& file) {
  const std::vector<std::string> unusable = UnusableOptions(file);
  if (!unusable.empty()) return absl::InvalidArgumentError(absl::StrJoin(unusable, "\n"));

  const std::string stem = google::protobuf::compiler::cpp::StripProto(file.name());
  FileModel model;
  model.proto_path = file.name();
  model.messages_header = stem + ".pb.h";
  model.stubs_header = StubsHeaderOf(file);
  model.mock_header = MockHeaderOf(file);
  model.stubs_source = stem + ".verbena.cc";
  model.include_guard = "VERBENA_INCLUDED_" + IdentifierFor(file.name());
  if (!file.package().empty()) model.namespaces = absl::StrSplit(file.package(), '.');

  std::vector<std::string> names;
  for (int i = 0; i < file.service_count(); ++i) names.push_back(file.service(i)->name());
  std::set<std::string> reserved = MessageNames(file);
  reserved.insert(ReservedServiceNames().begin(), ReservedServiceNames().end());
  if (file.package().empty()) reserved.insert(GlobalNamespaces().begin(), GlobalNamespaces().end());
  std::vector<std::string> cpp_names = DistinctCppNames(names, reserved);
  for (int i = 0; i < file.service_count(); ++i) {
    model.services.push_back(ReadService(*file.service(i), std::move(cpp_names[i])));
    for (const MethodModel& method : model.services.back().methods) {
      model.has_streams |= method.client_streams || method.server_streams;
    }
  }
  return model;
}

}  // namespace verbena::codegen
