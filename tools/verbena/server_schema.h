// What a server says of itself by reflection: its services, and descriptors of whatever it is asked for.
//
// Owner: the user. Descriptors live as long as this. Thread: one at a time, no event loop's.

#ifndef VERBENA_TOOLS_VERBENA_SERVER_SCHEMA_H_
#define VERBENA_TOOLS_VERBENA_SERVER_SCHEMA_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/descriptor_database.h"
#include "rpc/channel.h"
#include "rpc/reflection/reflection.verbena.h"

namespace verbena::tools {

class ServerSchema {
 public:
  // `timeout` is that of each question to the server.
  ServerSchema(std::shared_ptr<Channel> channel, absl::Duration timeout);

  absl::StatusOr<std::vector<std::string>> ListServices();

  // By full name. NotFound: the server has no descriptor of it, or none of this kind. DataLoss: it sent none that hold
  // together. Else as of the call.
  absl::StatusOr<const google::protobuf::ServiceDescriptor*> FindService(const std::string& name);
  // "package.Service/Method".
  absl::StatusOr<const google::protobuf::MethodDescriptor*> FindMethod(const std::string& path);
  // As .proto text, of a symbol of any kind.
  absl::StatusOr<std::string> Describe(const std::string& symbol);

 private:
  // What the pool has against files that it was given.
  class Complaints : public google::protobuf::DescriptorPool::ErrorCollector {
   public:
    void AddError(const std::string& file, const std::string& element, const google::protobuf::Message*, ErrorLocation,
                  const std::string& words) override;
    std::string words;
  };

  absl::StatusOr<grpc::reflection::v1::ServerReflectionResponse> Ask(
      const grpc::reflection::v1::ServerReflectionRequest& request);
  // Asks for the file of `symbol` and has it built.
  absl::Status Fetch(const std::string& symbol);

  grpc::reflection::v1::ServerReflection::Stub stub_;
  const absl::Duration timeout_;
  google::protobuf::SimpleDescriptorDatabase files_;
  Complaints complaints_;
  google::protobuf::DescriptorPool pool_{&files_, &complaints_};
};

}  // namespace verbena::tools

#endif  // VERBENA_TOOLS_VERBENA_SERVER_SCHEMA_H_
