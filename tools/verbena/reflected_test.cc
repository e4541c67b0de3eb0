// The commands that ask a server's health and reflection, against a server on the software device.

#include <memory>
#include <sstream>
#include <string>

#include "gmock/gmock.h"
#include "google/protobuf/descriptor.pb.h"
#include "gtest/gtest.h"
#include "rpc/health/health_service.h"
#include "rpc/reflection/reflection_service.h"
#include "rpc/server.h"
#include "rpc/server_context.h"
#include "tools/verbena/call.h"
#include "tools/verbena/check_service.h"
#include "tools/verbena/describe.h"
#include "tools/verbena/health.h"
#include "tools/verbena/list.h"

namespace verbena::tools {
namespace {

using ::testing::HasSubstr;

constexpr absl::Duration kTimeout = absl::Seconds(20);

// Echoes, with what the client's metadata says under "greeting" before it.
class GreetingService final : public check::Check::Service {
 public:
  absl::Status Echo(ServerContext* context, const check::EchoRequest* request, check::EchoReply* reply) override {
    for (const absl::string_view greeting : context->client_metadata().FindAll("greeting")) {
      reply->mutable_payload()->append(greeting.data(), greeting.size());
    }
    reply->mutable_payload()->append(request->payload());
    return absl::OkStatus();
  }
};

// Answers every question with the same file, or the same error.
class LyingReflection final : public grpc::reflection::v1::ServerReflection::Service {
 public:
  void set_file(std::string file) {
    answer_.mutable_file_descriptor_response()->clear_file_descriptor_proto();
    answer_.mutable_file_descriptor_response()->add_file_descriptor_proto(std::move(file));
  }
  void set_error(int code, const std::string& message) {
    answer_.mutable_error_response()->set_error_code(code);
    answer_.mutable_error_response()->set_error_message(message);
  }

 private:
  using Stream =
      ServerReaderWriter<grpc::reflection::v1::ServerReflectionResponse, grpc::reflection::v1::ServerReflectionRequest>;
  absl::Status ServerReflectionInfo(ServerContext*, Stream* stream) override {
    grpc::reflection::v1::ServerReflectionRequest request;
    while (stream->Read(&request)) {
      if (absl::Status written = stream->Write(answer_); !written.ok()) return written;
    }
    return absl::OkStatus();
  }

  grpc::reflection::v1::ServerReflectionResponse answer_;  // Not changed while somebody asks.
};

class ReflectedTest : public ::testing::Test {
 protected:
  ReflectedTest() { Serve({&greeting_, &health_, &reflection_}); }

  void Serve(const std::vector<Service*>& services) {
    Server::Builder builder;
    builder.AddListeningAddress("soft://127.0.0.1:0");
    for (Service* service : services) builder.RegisterService(service);
    absl::StatusOr<std::unique_ptr<Server>> server = builder.Build();
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    channel_ = *Channel::Create(server_->addresses().front());
    schema_ = std::make_unique<ServerSchema>(channel_, kTimeout);
  }
  absl::Status Call(const std::string& method, const std::string& json, std::vector<std::string> metadata = {}) {
    method_ = method;
    return RunCall(*channel_, *schema_, method_, json, {kTimeout, std::move(metadata)}, output_);
  }
  static void ExpectFailed(const absl::Status& status, absl::StatusCode code, const std::string& words) {
    EXPECT_EQ(status.code(), code) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(words));
  }

  GreetingService greeting_;
  HealthService health_;
  ReflectionService reflection_;
  LyingReflection lying_;
  std::unique_ptr<Server> server_;
  std::string method_;
  std::shared_ptr<Channel> channel_;
  std::unique_ptr<ServerSchema> schema_;
  std::ostringstream output_;
};

TEST_F(ReflectedTest, HealthIsWellOnlyOfWhatServes) {
  EXPECT_EQ(RunHealth(channel_, "", kTimeout, output_), absl::OkStatus());
  health_.SetServingStatus("a.Service", HealthService::Status::NOT_SERVING);
  ExpectFailed(RunHealth(channel_, "a.Service", kTimeout, output_), absl::StatusCode::kUnavailable,
               "a.Service is not serving");
  EXPECT_EQ(output_.str(), "SERVING\nNOT_SERVING\n");
  ExpectFailed(RunHealth(channel_, "another", kTimeout, output_), absl::StatusCode::kNotFound, "another");
}

TEST_F(ReflectedTest, ListHasServicesAndMethods) {
  EXPECT_EQ(RunList(*schema_, "", output_), absl::OkStatus());
  EXPECT_EQ(output_.str(), "verbena.check.Check\ngrpc.health.v1.Health\ngrpc.reflection.v1.ServerReflection\n");
  output_.str("");
  EXPECT_EQ(RunList(*schema_, "grpc.health.v1.Health", output_), absl::OkStatus());
  EXPECT_EQ(output_.str(), "grpc.health.v1.Health/Check\ngrpc.health.v1.Health/List\ngrpc.health.v1.Health/Watch\n");
  ExpectFailed(RunList(*schema_, "none.Such", output_), absl::StatusCode::kNotFound, "none.Such");
  ExpectFailed(RunList(*schema_, "verbena.check.Pattern", output_), absl::StatusCode::kNotFound, "not a service");
}

TEST_F(ReflectedTest, DescribePrintsAnySymbolAsProtoText) {
  const std::pair<const char*, const char*> symbols[] = {
      {"verbena.check.Pattern", "message Pattern {\n  uint64 seed = 1;\n  uint64 bytes = 2;\n}\n"},
      {"verbena.check.Pattern.seed", "uint64 seed = 1;\n"},
      {"verbena.check.Check/Echo", "rpc Echo(.verbena.check.EchoRequest) returns (.verbena.check.EchoReply);\n"},
      {"grpc.health.v1.Health", "service Health {\n  rpc Check("},
      {"grpc.health.v1.HealthCheckResponse.ServingStatus", "enum ServingStatus {\n  UNKNOWN = 0;\n"},
      {"grpc.health.v1.HealthCheckResponse.SERVING", "SERVING = 1;\n"},
      {"grpc.reflection.v1.ServerReflectionRequest.message_request", "oneof message_request {\n"},
  };
  for (const auto& [symbol, text] : symbols) {
    output_.str("");
    EXPECT_EQ(RunDescribe(*schema_, symbol, output_), absl::OkStatus());
    EXPECT_THAT(output_.str(), HasSubstr(text)) << symbol;
  }
  ExpectFailed(RunDescribe(*schema_, "none.Such", output_), absl::StatusCode::kNotFound, "none.Such");
  ExpectFailed(RunDescribe(*schema_, "verbena.check", output_), absl::StatusCode::kNotFound,
               "verbena.check has no .proto");
}

TEST_F(ReflectedTest, CallTurnsJsonIntoJson) {
  EXPECT_EQ(Call("verbena.check.Check/Echo", R"({"payload": "aGVsbG8="})"), absl::OkStatus());
  EXPECT_EQ(output_.str(), "{\n \"payload\": \"aGVsbG8=\"\n}\n");
}

TEST_F(ReflectedTest, CallSendsMetadata) {
  EXPECT_EQ(Call("verbena.check.Check/Echo", "{}", {"greeting:hi", "greeting::"}), absl::OkStatus());
  EXPECT_THAT(output_.str(), HasSubstr("\"aGk6\""));  // "hi:"
}

TEST_F(ReflectedTest, CallThatCannotBeMadeSaysWhy) {
  ExpectFailed(Call("verbena.check.Check.Echo", "{}"), absl::StatusCode::kInvalidArgument, "package.Service/Method");
  ExpectFailed(Call("/verbena.check.Check/Echo", "{}"), absl::StatusCode::kInvalidArgument, "package.Service/Method");
  ExpectFailed(Call("verbena.check.Check/Nope", "{}"), absl::StatusCode::kNotFound, "has no method Nope");
  ExpectFailed(Call("grpc.health.v1.Health/Watch", "{}"), absl::StatusCode::kUnimplemented, "streams");
  ExpectFailed(Call("verbena.check.Check/Echo", "{"), absl::StatusCode::kInvalidArgument,
               "the JSON is no verbena.check.EchoRequest");
  ExpectFailed(Call("verbena.check.Check/Echo", R"({"nope": 1})"), absl::StatusCode::kInvalidArgument, "nope");
  ExpectFailed(Call("verbena.check.Check/Echo", "{}", {"no colon"}), absl::StatusCode::kInvalidArgument, "key:value");
  ExpectFailed(Call("verbena.check.Check/Echo", "{}", {"Upper:x"}), absl::StatusCode::kInvalidArgument, "Upper");
  EXPECT_EQ(output_.str(), "");
}

TEST_F(ReflectedTest, CallThatFailsHasTheServersStatus) {
  ExpectFailed(Call("verbena.check.Check/Take", "{}"), absl::StatusCode::kUnimplemented, "is not implemented");
}

TEST_F(ReflectedTest, FilesThatDoNotHoldTogetherAreRefusedInWords) {
  google::protobuf::FileDescriptorProto file;
  file.set_name("a.proto");
  file.add_dependency("missing.proto");
  file.add_service()->set_name("S");
  Serve({&lying_});
  lying_.set_file(file.SerializeAsString());
  ExpectFailed(RunDescribe(*schema_, "S", output_), absl::StatusCode::kDataLoss, "missing.proto");
  lying_.set_file("\xff");
  ExpectFailed(RunDescribe(*schema_, "S", output_), absl::StatusCode::kDataLoss, "no descriptor");
}

TEST_F(ReflectedTest, ErrorIsOneWhateverItsCode) {
  Serve({&lying_});
  for (const int code : {0, 77, -1}) {
    lying_.set_error(code, "so it is");
    ExpectFailed(RunDescribe(*schema_, "S", output_), absl::StatusCode::kUnknown, "so it is");
  }
}

TEST_F(ReflectedTest, OfAServerWithoutReflectionOneHearsWhatItLacks) {
  Serve({&greeting_});
  ExpectFailed(RunList(*schema_, "", output_), absl::StatusCode::kUnimplemented, "grpc.reflection.v1.ServerReflection");
  ExpectFailed(RunList(*schema_, "", output_), absl::StatusCode::kUnimplemented,
               "register a verbena::ReflectionService");
  ExpectFailed(RunHealth(channel_, "", kTimeout, output_), absl::StatusCode::kUnimplemented, "grpc.health.v1.Health");
  ExpectFailed(RunHealth(channel_, "", kTimeout, output_), absl::StatusCode::kUnimplemented,
               "register a verbena::HealthService");
}

}  // namespace
}  // namespace verbena::tools
