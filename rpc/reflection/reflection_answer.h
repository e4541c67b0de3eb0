// What reflection answers to one request.

#ifndef VERBENA_RPC_REFLECTION_REFLECTION_ANSWER_H_
#define VERBENA_RPC_REFLECTION_REFLECTION_ANSWER_H_

#include <string>
#include <vector>

#include "google/protobuf/descriptor.h"
#include "rpc/reflection/reflection.pb.h"

namespace verbena::rpc {

// `services` are those of the server, by full name; `pool` has the descriptors. What it has not is answered with an
// error in words. Thread: any, as of the pool.
grpc::reflection::v1::ServerReflectionResponse AnswerReflection(
    const google::protobuf::DescriptorPool& pool, const std::vector<std::string>& services,
    const grpc::reflection::v1::ServerReflectionRequest& request);

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_REFLECTION_REFLECTION_ANSWER_H_
