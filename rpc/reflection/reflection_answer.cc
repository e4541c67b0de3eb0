#include "rpc/reflection/reflection_answer.h"

#include <algorithm>
#include <set>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "google/protobuf/descriptor.pb.h"

namespace verbena::rpc {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::DescriptorPool;
using google::protobuf::FieldDescriptor;
using google::protobuf::FileDescriptor;
using google::protobuf::FileDescriptorProto;
using grpc::reflection::v1::ExtensionRequest;
using grpc::reflection::v1::ServerReflectionRequest;
using grpc::reflection::v1::ServerReflectionResponse;

constexpr char kLite[] = "messages generated for protobuf's lite runtime have no descriptors";

// The file and what it imports, each once, the file first.
void AddWithImports(const FileDescriptor& file, std::set<const FileDescriptor*>& added,
                    ServerReflectionResponse* response) {
  if (!added.insert(&file).second) return;
  FileDescriptorProto proto;
  file.CopyTo(&proto);
  proto.SerializeToString(response->mutable_file_descriptor_response()->add_file_descriptor_proto());
  for (int i = 0; i < file.dependency_count(); ++i) AddWithImports(*file.dependency(i), added, response);
}

absl::Status AnswerFile(const FileDescriptor* file, std::string words, ServerReflectionResponse* response) {
  if (file == nullptr) return absl::NotFoundError(std::move(words));
  std::set<const FileDescriptor*> added;
  AddWithImports(*file, added, response);
  return absl::OkStatus();
}

absl::Status AnswerSymbol(const DescriptorPool& pool, const std::vector<std::string>& services,
                          const std::string& symbol, ServerReflectionResponse* response) {
  const bool served = std::find(services.begin(), services.end(), symbol) != services.end();
  return AnswerFile(
      pool.FindFileContainingSymbol(symbol),
      absl::StrCat(symbol, served ? " is served here but has no descriptor: " : " is not known here; ", kLite),
      response);
}

absl::Status AnswerExtension(const DescriptorPool& pool, const ExtensionRequest& request,
                             ServerReflectionResponse* response) {
  const Descriptor* const type = pool.FindMessageTypeByName(request.containing_type());
  const FieldDescriptor* const extension =
      type == nullptr ? nullptr : pool.FindExtensionByNumber(type, request.extension_number());
  return AnswerFile(
      extension == nullptr ? nullptr : extension->file(),
      absl::StrCat("extension ", request.extension_number(), " of ", request.containing_type(), " is not known here"),
      response);
}

absl::Status AnswerExtensionNumbers(const DescriptorPool& pool, const std::string& name,
                                    ServerReflectionResponse* response) {
  const Descriptor* const type = pool.FindMessageTypeByName(name);
  if (type == nullptr) return absl::NotFoundError(absl::StrCat("message ", name, " is not known here; ", kLite));
  std::vector<const FieldDescriptor*> extensions;
  pool.FindAllExtensions(type, &extensions);
  auto& numbers = *response->mutable_all_extension_numbers_response();
  numbers.set_base_type_name(name);
  for (const FieldDescriptor* extension : extensions) numbers.add_extension_number(extension->number());
  std::sort(numbers.mutable_extension_number()->begin(), numbers.mutable_extension_number()->end());
  return absl::OkStatus();
}

absl::Status AnswerServices(const std::vector<std::string>& services, ServerReflectionResponse* response) {
  auto& listed = *response->mutable_list_services_response();
  for (const std::string& service : services) listed.add_service()->set_name(service);
  return absl::OkStatus();
}

absl::Status Answer(const DescriptorPool& pool, const std::vector<std::string>& services,
                    const ServerReflectionRequest& request, ServerReflectionResponse* response) {
  switch (request.message_request_case()) {
    case ServerReflectionRequest::kFileByFilename:
      return AnswerFile(pool.FindFileByName(request.file_by_filename()),
                        absl::StrCat("file ", request.file_by_filename(), " is not known here"), response);
    case ServerReflectionRequest::kFileContainingSymbol:
      return AnswerSymbol(pool, services, request.file_containing_symbol(), response);
    case ServerReflectionRequest::kFileContainingExtension:
      return AnswerExtension(pool, request.file_containing_extension(), response);
    case ServerReflectionRequest::kAllExtensionNumbersOfType:
      return AnswerExtensionNumbers(pool, request.all_extension_numbers_of_type(), response);
    case ServerReflectionRequest::kListServices:
      return AnswerServices(services, response);
    case ServerReflectionRequest::MESSAGE_REQUEST_NOT_SET:
      break;
  }
  return absl::InvalidArgumentError("the request asks for nothing that this server knows of");
}

}  // namespace

ServerReflectionResponse AnswerReflection(const DescriptorPool& pool, const std::vector<std::string>& services,
                                          const ServerReflectionRequest& request) {
  ServerReflectionResponse response;
  response.set_valid_host(request.host());
  *response.mutable_original_request() = request;
  const absl::Status answered = Answer(pool, services, request, &response);
  if (!answered.ok()) {
    response.mutable_error_response()->set_error_code(static_cast<int>(answered.code()));
    response.mutable_error_response()->set_error_message(std::string(answered.message()));
  }
  return response;
}

}  // namespace verbena::rpc
