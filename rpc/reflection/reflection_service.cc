#include "rpc/reflection/reflection_service.h"

#include "google/protobuf/descriptor.h"
#include "rpc/reflection/reflection_answer.h"

namespace verbena {

using grpc::reflection::v1::ServerReflectionRequest;
using grpc::reflection::v1::ServerReflectionResponse;

Task<absl::Status> ReflectionService::ServerReflectionInfo(
    ServerContext*, CoServerReaderWriter<ServerReflectionResponse, ServerReflectionRequest>* stream) {
  ServerReflectionRequest request;
  while (co_await stream->Read(&request)) {
    absl::Status written = co_await stream->Write(
        rpc::AnswerReflection(*google::protobuf::DescriptorPool::generated_pool(), services_, request));
    if (!written.ok()) co_return written;
  }
  co_return absl::OkStatus();
}

}  // namespace verbena
