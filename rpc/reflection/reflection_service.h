// gRPC's server reflection: tells clients that were built without a server's .proto files what it serves. It is what
// `verbena list`, `describe` and `call` ask.
//
//   verbena::ReflectionService reflection;
//   builder.RegisterService(&greeter).RegisterService(&reflection);
//
// It knows the services that are registered with its server, and describes whatever messages are linked into the
// program. Messages generated for protobuf's lite runtime have no descriptors: services made of them are listed, not
// described.
//
// Owner: the user; registered with one server, which it outlives.

#ifndef VERBENA_RPC_REFLECTION_REFLECTION_SERVICE_H_
#define VERBENA_RPC_REFLECTION_REFLECTION_SERVICE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "rpc/reflection/reflection.verbena.h"

namespace verbena {

class ReflectionService final : public grpc::reflection::v1::ServerReflection::CoService {
 public:
  void OnServerStart(const std::vector<std::string>& services) override { services_ = services; }

 private:
  Task<absl::Status> ServerReflectionInfo(
      ServerContext* context, CoServerReaderWriter<grpc::reflection::v1::ServerReflectionResponse,
                                                   grpc::reflection::v1::ServerReflectionRequest>* stream) override;

  std::vector<std::string> services_;  // Constant from the start of the server.
};

}  // namespace verbena

#endif  // VERBENA_RPC_REFLECTION_REFLECTION_SERVICE_H_
