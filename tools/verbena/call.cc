#include "tools/verbena/call.h"

#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "google/protobuf/dynamic_message.h"
#include "google/protobuf/util/json_util.h"
#include "rpc/client_context.h"
#include "rpc/unary_call.h"

namespace verbena::tools {
namespace {

using google::protobuf::Message;
using google::protobuf::MethodDescriptor;

absl::Status AddMetadata(const std::vector<std::string>& entries, ClientContext* context) {
  for (const std::string& entry : entries) {
    const size_t colon = entry.find(':');
    if (colon == std::string::npos) {
      return absl::InvalidArgumentError(absl::StrCat("\"", entry, "\" is no metadata: write key:value"));
    }
    absl::Status added = context->AddMetadata(entry.substr(0, colon), entry.substr(colon + 1));
    if (!added.ok()) return added;
  }
  return absl::OkStatus();
}

absl::Status ReadJson(const std::string& json, Message* message) {
  const auto read = google::protobuf::util::JsonStringToMessage(json, message);
  if (read.ok()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the JSON is no ", message->GetTypeName(), ": ", read.message().ToString()));
}

absl::Status WriteJson(const Message& message, std::ostream& output) {
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = true;
  std::string json;
  const auto written = google::protobuf::util::MessageToJsonString(message, &json, options);
  if (!written.ok()) {
    return absl::DataLossError(absl::StrCat("the reply has no JSON: ", written.message().ToString()));
  }
  output << json << (json.empty() || json.back() != '\n' ? "\n" : "");
  return absl::OkStatus();
}

absl::StatusOr<const MethodDescriptor*> FindUnary(ServerSchema& schema, const std::string& path) {
  const absl::StatusOr<const MethodDescriptor*> method = schema.FindMethod(path);
  if (method.ok() && ((*method)->client_streaming() || (*method)->server_streaming())) {
    return absl::UnimplementedError(absl::StrCat(path, " streams; only unary methods can be called from JSON"));
  }
  return method;
}

}  // namespace

absl::Status RunCall(Channel& channel, ServerSchema& schema, const std::string& method, const std::string& json,
                     const CallOptions& options, std::ostream& output) {
  const absl::StatusOr<const MethodDescriptor*> found = FindUnary(schema, method);
  if (!found.ok()) return found.status();
  google::protobuf::DynamicMessageFactory factory;
  const std::unique_ptr<Message> request(factory.GetPrototype((*found)->input_type())->New());
  const std::unique_ptr<Message> reply(factory.GetPrototype((*found)->output_type())->New());
  if (absl::Status read = ReadJson(json, request.get()); !read.ok()) return read;
  ClientContext context;
  context.set_timeout(options.timeout);
  if (absl::Status added = AddMetadata(options.metadata, &context); !added.ok()) return added;
  absl::Status status = BlockingUnaryCall(channel, method, &context, *request, reply.get());
  if (!status.ok()) return status;
  return WriteJson(*reply, output);
}

}  // namespace verbena::tools
