#include "rpc/reflection/reflection_service.h"

#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "google/protobuf/descriptor.pb.h"
#include "gtest/gtest.h"
#include "rpc/client_context.h"
#include "rpc/testing/lambda_service.h"
#include "rpc/testing/memory_server.h"

namespace verbena {
namespace {

using google::protobuf::FileDescriptorProto;
using grpc::reflection::v1::ServerReflection;
using grpc::reflection::v1::ServerReflectionRequest;
using grpc::reflection::v1::ServerReflectionResponse;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kReflection[] = "grpc.reflection.v1.ServerReflection";

class ReflectionServiceTest : public ::testing::Test {
 protected:
  ServerReflectionResponse Ask(const ServerReflectionRequest& request) {
    ServerReflectionResponse response;
    EXPECT_EQ(stream_->Write(request), absl::OkStatus());
    EXPECT_TRUE(stream_->Read(&response));
    return response;
  }
  ServerReflectionResponse AskForSymbol(const std::string& symbol) {
    ServerReflectionRequest request;
    request.set_file_containing_symbol(symbol);
    return Ask(request);
  }

  testing::LambdaService lambda_{"demo.Handmade"};
  ReflectionService reflection_;
  testing::MemoryServer memory_{{&lambda_, &reflection_}};
  ServerReflection::Stub stub_{memory_.channel()};
  ClientContext context_;
  std::unique_ptr<ClientReaderWriter<ServerReflectionRequest, ServerReflectionResponse>> stream_ =
      stub_.ServerReflectionInfo(&context_);
};

TEST_F(ReflectionServiceTest, ListsWhatIsRegisteredWithItsServer) {
  ServerReflectionRequest request;
  request.set_list_services("");
  std::vector<std::string> names;
  const ServerReflectionResponse response = Ask(request);
  for (const auto& service : response.list_services_response().service()) names.push_back(service.name());
  EXPECT_THAT(names, ElementsAre("demo.Handmade", kReflection));
}

TEST_F(ReflectionServiceTest, AnswersManyRequestsOfOneStreamAndEndsWithIt) {
  for (int i = 0; i < 3; ++i) {
    FileDescriptorProto file;
    ASSERT_TRUE(file.ParseFromString(AskForSymbol(kReflection).file_descriptor_response().file_descriptor_proto(0)));
    EXPECT_EQ(file.package(), "grpc.reflection.v1");
    EXPECT_THAT(AskForSymbol("demo.Handmade").error_response().error_message(), HasSubstr("has no descriptor"));
  }
  stream_->WritesDone();
  ServerReflectionResponse response;
  EXPECT_FALSE(stream_->Read(&response));
  EXPECT_EQ(stream_->Finish(), absl::OkStatus());
}

}  // namespace
}  // namespace verbena
