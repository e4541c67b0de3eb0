#include "tools/verbena/server_schema.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "google/protobuf/descriptor.pb.h"
#include "rpc/client_context.h"

namespace verbena::tools {

using google::protobuf::FileDescriptor;
using google::protobuf::FileDescriptorProto;
using google::protobuf::MethodDescriptor;
using google::protobuf::ServiceDescriptor;
using grpc::reflection::v1::ServerReflectionRequest;
using grpc::reflection::v1::ServerReflectionResponse;

namespace {

// The server's word for what is wrong. It is an error whatever its code says.
absl::Status ErrorOf(const grpc::reflection::v1::ErrorResponse& response) {
  absl::Status error(static_cast<absl::StatusCode>(response.error_code()), response.error_message());
  if (!error.ok()) return error;
  return absl::UnknownError(
      absl::StrCat("the server's reflection has an error of code OK: ", response.error_message()));
}

}  // namespace

void ServerSchema::Complaints::AddError(const std::string& file, const std::string& element,
                                        const google::protobuf::Message*, ErrorLocation, const std::string& text) {
  absl::StrAppend(&words, words.empty() ? "" : "; ", file, ": ", element, ": ", text);
}

ServerSchema::ServerSchema(std::shared_ptr<Channel> channel, absl::Duration timeout)
    : stub_(std::move(channel)), timeout_(timeout) {}

absl::StatusOr<ServerReflectionResponse> ServerSchema::Ask(const ServerReflectionRequest& request) {
  ClientContext context;
  context.set_timeout(timeout_);
  const auto stream = stub_.ServerReflectionInfo(&context);
  absl::Status written = stream->Write(request);
  stream->WritesDone();
  ServerReflectionResponse response;
  const bool read = written.ok() && stream->Read(&response);
  if (absl::Status status = stream->Finish(); !status.ok()) {
    if (!absl::IsUnimplemented(status)) return status;
    return absl::UnimplementedError(
        absl::StrCat(status.message(), "; it has to register a verbena::ReflectionService (//rpc/reflection)"));
  }
  if (!read) return absl::DataLossError("the server's reflection did not answer");
  if (response.has_error_response()) return ErrorOf(response.error_response());
  return response;
}

absl::StatusOr<std::vector<std::string>> ServerSchema::ListServices() {
  ServerReflectionRequest request;
  request.set_list_services("");
  const absl::StatusOr<ServerReflectionResponse> response = Ask(request);
  if (!response.ok()) return response.status();
  std::vector<std::string> names;
  for (const auto& service : response->list_services_response().service()) names.push_back(service.name());
  return names;
}

absl::Status ServerSchema::Fetch(const std::string& symbol) {
  ServerReflectionRequest request;
  request.set_file_containing_symbol(symbol);
  const absl::StatusOr<ServerReflectionResponse> response = Ask(request);
  if (!response.ok()) return response.status();
  for (const std::string& bytes : response->file_descriptor_response().file_descriptor_proto()) {
    FileDescriptorProto file, present;
    if (!file.ParseFromString(bytes)) return absl::DataLossError("the server sent a file that is no descriptor");
    if (!files_.FindFileByName(file.name(), &present)) files_.Add(file);
  }
  // The server finds a package as well, which is no symbol to us: the caller says so.
  if (pool_.FindFileContainingSymbol(symbol) != nullptr || complaints_.words.empty()) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat("the files that the server sent do not make up ", symbol, ": ", complaints_.words));
}

absl::StatusOr<const ServiceDescriptor*> ServerSchema::FindService(const std::string& name) {
  if (absl::Status fetched = Fetch(name); !fetched.ok()) return fetched;
  const ServiceDescriptor* const service = pool_.FindServiceByName(name);
  if (service == nullptr) return absl::NotFoundError(absl::StrCat(name, " is not a service"));
  return service;
}

absl::StatusOr<const MethodDescriptor*> ServerSchema::FindMethod(const std::string& path) {
  const size_t slash = path.find('/');
  if (slash == std::string::npos || slash == 0) {
    return absl::InvalidArgumentError(absl::StrCat(path, " is not a method: write package.Service/Method"));
  }
  const absl::StatusOr<const ServiceDescriptor*> service = FindService(path.substr(0, slash));
  if (!service.ok()) return service.status();
  const std::string name = path.substr(slash + 1);
  const MethodDescriptor* const method = (*service)->FindMethodByName(name);
  if (method == nullptr) return absl::NotFoundError(absl::StrCat((*service)->full_name(), " has no method ", name));
  return method;
}

absl::StatusOr<std::string> ServerSchema::Describe(const std::string& symbol) {
  if (absl::Status fetched = Fetch(symbol); !fetched.ok()) return fetched;
  if (const auto* const message = pool_.FindMessageTypeByName(symbol)) return message->DebugString();
  if (const auto* const service = pool_.FindServiceByName(symbol)) return service->DebugString();
  if (const auto* const method = pool_.FindMethodByName(symbol)) return method->DebugString();
  if (const auto* const type = pool_.FindEnumTypeByName(symbol)) return type->DebugString();
  if (const auto* const value = pool_.FindEnumValueByName(symbol)) return value->DebugString();
  if (const auto* const field = pool_.FindFieldByName(symbol)) return field->DebugString();
  if (const auto* const extension = pool_.FindExtensionByName(symbol)) return extension->DebugString();
  if (const auto* const oneof = pool_.FindOneofByName(symbol)) return oneof->DebugString();
  return absl::NotFoundError(absl::StrCat(symbol, " has no .proto text of its own"));
}

}  // namespace verbena::tools
