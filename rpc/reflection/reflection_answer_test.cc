#include "rpc/reflection/reflection_answer.h"

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "google/protobuf/descriptor.pb.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"

namespace verbena::rpc {
namespace {

using google::protobuf::DescriptorPool;
using google::protobuf::FileDescriptorProto;
using google::protobuf::TextFormat;
using grpc::reflection::v1::ServerReflectionRequest;
using grpc::reflection::v1::ServerReflectionResponse;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// low is imported by left and right, and these by top.
constexpr char kLow[] = R"(
    name: "low.proto" package: "demo"
    message_type {
      name: "Extended" extension_range { start: 100 end: 200 }
      field { name: "first" number: 1 type: TYPE_INT32 label: LABEL_OPTIONAL json_name: "der_erste" }
    })";
constexpr char kLeft[] = R"(
    name: "left.proto" package: "demo" dependency: "low.proto"
    extension { name: "b" number: 150 type: TYPE_INT32 label: LABEL_OPTIONAL extendee: ".demo.Extended" }
    extension { name: "a" number: 120 type: TYPE_INT32 label: LABEL_OPTIONAL extendee: ".demo.Extended" })";
constexpr char kRight[] = R"(name: "right.proto" package: "demo" dependency: "low.proto")";
constexpr char kTop[] = R"(
    name: "top.proto" package: "demo" dependency: "left.proto" dependency: "right.proto"
    service { name: "Service" method { name: "Do" input_type: "Empty" output_type: "Empty" } }
    message_type { name: "Empty" })";

class ReflectionAnswerTest : public ::testing::Test {
 protected:
  ReflectionAnswerTest() {
    for (const char* text : {kLow, kLeft, kRight, kTop}) {
      FileDescriptorProto file;
      EXPECT_TRUE(TextFormat::ParseFromString(text, &file));
      EXPECT_NE(pool_.BuildFile(file), nullptr);
    }
  }

  ServerReflectionResponse Ask(const std::string& request_text) {
    ServerReflectionRequest request;
    EXPECT_TRUE(TextFormat::ParseFromString(request_text, &request));
    return AnswerReflection(pool_, {"demo.Service", "demo.Lite"}, request);
  }
  static std::vector<FileDescriptorProto> Files(const ServerReflectionResponse& response) {
    std::vector<FileDescriptorProto> files;
    for (const std::string& bytes : response.file_descriptor_response().file_descriptor_proto()) {
      EXPECT_TRUE(files.emplace_back().ParseFromString(bytes));
    }
    return files;
  }
  std::vector<std::string> FileNames(const std::string& request_text) {
    std::vector<std::string> names;
    for (const FileDescriptorProto& file : Files(Ask(request_text))) names.push_back(file.name());
    return names;
  }
  void ExpectError(const std::string& request_text, absl::StatusCode code, const std::string& words) {
    const ServerReflectionResponse response = Ask(request_text);
    ASSERT_TRUE(response.has_error_response()) << response.ShortDebugString();
    EXPECT_EQ(response.error_response().error_code(), static_cast<int>(code));
    EXPECT_THAT(response.error_response().error_message(), HasSubstr(words));
  }

  DescriptorPool pool_;
};

TEST_F(ReflectionAnswerTest, ServicesAreThoseOfTheServer) {
  const ServerReflectionResponse response = Ask("list_services: '*'");
  std::vector<std::string> names;
  for (const auto& service : response.list_services_response().service()) names.push_back(service.name());
  EXPECT_THAT(names, ElementsAre("demo.Service", "demo.Lite"));
}

TEST_F(ReflectionAnswerTest, FileComesFirstAndThenEachOfItsImportsOnce) {
  EXPECT_THAT(FileNames("file_by_filename: 'top.proto'"),
              ElementsAre("top.proto", "left.proto", "low.proto", "right.proto"));
  EXPECT_THAT(FileNames("file_by_filename: 'low.proto'"), ElementsAre("low.proto"));
}

TEST_F(ReflectionAnswerTest, SymbolOfAnyKindLeadsToItsFile) {
  for (const char* symbol : {"demo.Service", "demo.Service.Do", "demo.Empty"}) {
    EXPECT_EQ(FileNames(absl::StrCat("file_containing_symbol: '", symbol, "'")).at(0), "top.proto") << symbol;
  }
  EXPECT_EQ(FileNames("file_containing_symbol: 'demo.Extended.first'").at(0), "low.proto");
}

TEST_F(ReflectionAnswerTest, NamesOfFieldsInJsonAreKept) {
  const std::vector<FileDescriptorProto> files = Files(Ask("file_by_filename: 'low.proto'"));
  EXPECT_EQ(files.at(0).message_type(0).field(0).json_name(), "der_erste");
}

TEST_F(ReflectionAnswerTest, ExtensionLeadsToItsFile) {
  EXPECT_EQ(FileNames("file_containing_extension { containing_type: 'demo.Extended' extension_number: 120 }").at(0),
            "left.proto");
}

TEST_F(ReflectionAnswerTest, NumbersOfAllExtensionsAreSorted) {
  const ServerReflectionResponse response = Ask("all_extension_numbers_of_type: 'demo.Extended'");
  EXPECT_EQ(response.all_extension_numbers_response().base_type_name(), "demo.Extended");
  EXPECT_THAT(response.all_extension_numbers_response().extension_number(), ElementsAre(120, 150));
  const ServerReflectionResponse none = Ask("all_extension_numbers_of_type: 'demo.Empty'");
  EXPECT_TRUE(none.has_all_extension_numbers_response());
  EXPECT_THAT(none.all_extension_numbers_response().extension_number(), IsEmpty());
}

TEST_F(ReflectionAnswerTest, WhatIsNotThereIsNotFoundInWords) {
  ExpectError("file_by_filename: 'no.proto'", absl::StatusCode::kNotFound, "file no.proto is not known");
  ExpectError("file_containing_symbol: 'demo.None'", absl::StatusCode::kNotFound, "demo.None is not known");
  ExpectError("file_containing_extension { containing_type: 'demo.Extended' extension_number: 7 }",
              absl::StatusCode::kNotFound, "extension 7 of demo.Extended");
  ExpectError("file_containing_extension { containing_type: 'demo.None' extension_number: 7 }",
              absl::StatusCode::kNotFound, "extension 7 of demo.None");
  ExpectError("all_extension_numbers_of_type: 'demo.None'", absl::StatusCode::kNotFound, "demo.None");
}

TEST_F(ReflectionAnswerTest, ServiceOfLiteMessagesIsSaidToHaveNoDescriptor) {
  ExpectError("file_containing_symbol: 'demo.Lite'", absl::StatusCode::kNotFound,
              "demo.Lite is served here but has no descriptor: messages generated for protobuf's lite runtime");
}

TEST_F(ReflectionAnswerTest, RequestForNothingIsInvalid) {
  ExpectError("host: 'h'", absl::StatusCode::kInvalidArgument, "asks for nothing");
}

TEST_F(ReflectionAnswerTest, EveryAnswerRepeatsHostAndRequest) {
  const ServerReflectionResponse response = Ask("host: 'h' file_by_filename: 'no.proto'");
  EXPECT_EQ(response.valid_host(), "h");
  EXPECT_EQ(response.original_request().host(), "h");
  EXPECT_EQ(response.original_request().file_by_filename(), "no.proto");
}

}  // namespace
}  // namespace verbena::rpc
