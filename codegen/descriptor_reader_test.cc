#include "codegen/descriptor_reader.h"

#include "codegen/parsed_file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace verbena::codegen {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kMessages[] = "message A { message Inner { message class {} } } message delete {} ";

// The model of one file in package demo: messages A, A.Inner, A.Inner.class, delete and what is given.
FileModel ModelOf(const std::string& text) {
  const ParsedFile file("syntax = \"proto3\"; package demo; " + std::string(kMessages) + text);
  absl::StatusOr<FileModel> model = ReadFile(*file);
  EXPECT_TRUE(model.ok()) << model.status();
  return model.ok() ? *std::move(model) : FileModel();
}

std::string ErrorOf(const std::string& text) {
  const ParsedFile file(text);
  const absl::StatusOr<FileModel> model = ReadFile(*file);
  return model.ok() ? "" : std::string(model.status().message());
}

TEST(ReadFile, FileNamesComeFromTheProtoPath) {
  const ParsedFile file({{"some/dir/a.b.proto", "syntax = \"proto3\";"}}, "some/dir/a.b.proto");
  const absl::StatusOr<FileModel> model = ReadFile(*file);
  ASSERT_TRUE(model.ok());
  EXPECT_EQ(model->proto_path, "some/dir/a.b.proto");
  EXPECT_EQ(model->messages_header, "some/dir/a.b.pb.h");
  EXPECT_EQ(model->stubs_header, "some/dir/a.b.verbena.h");
  EXPECT_EQ(model->mock_header, "some/dir/a.b_mock.verbena.h");
  EXPECT_EQ(model->stubs_source, "some/dir/a.b.verbena.cc");
  EXPECT_THAT(model->namespaces, IsEmpty());
  EXPECT_THAT(model->services, IsEmpty());
}

TEST(ReadFile, PackageBecomesNamespaces) {
  const ParsedFile file("syntax = \"proto3\"; package one.two.three;");
  EXPECT_THAT(ReadFile(*file)->namespaces, ElementsAre("one", "two", "three"));
}

TEST(ReadFile, MethodHasItsPathOnTheWire) {
  const FileModel model = ModelOf("service Greeter { rpc SayHello(A) returns (A); }");
  ASSERT_EQ(model.services.size(), 1u);
  EXPECT_EQ(model.services[0].full_name, "demo.Greeter");
  ASSERT_EQ(model.services[0].methods.size(), 1u);
  EXPECT_EQ(model.services[0].methods[0].path, "demo.Greeter/SayHello");
}

TEST(ReadFile, PathWithoutPackageStartsWithTheService) {
  const ParsedFile file("syntax = \"proto3\"; message A {} service S { rpc M(A) returns (A); }");
  const absl::StatusOr<FileModel> model = ReadFile(*file);
  EXPECT_EQ(model->services[0].methods[0].path, "S/M");
  EXPECT_EQ(model->services[0].methods[0].request_type, "::A");
}

TEST(ReadFile, TypesAreQualifiedAndNamedAsProtocNamesThem) {
  const FileModel model = ModelOf("service S { rpc M(A.Inner) returns (delete); rpc N(A.Inner.class) returns (A); }");
  EXPECT_EQ(model.services[0].methods[0].request_type, "::demo::A_Inner");
  EXPECT_EQ(model.services[0].methods[0].reply_type, "::demo::delete_");
  EXPECT_EQ(model.services[0].methods[1].request_type, "::demo::A_Inner_class");
}

TEST(ReadFile, ImportedTypeIsNamedInItsOwnPackage) {
  const ParsedFile file({{"base.proto", "syntax = \"proto3\"; package base; message B {}"},
                         {"middle.proto", "syntax = \"proto3\"; import public \"base.proto\";"},
                         {"top.proto",
                          "syntax = \"proto3\"; package top; import \"middle.proto\"; "
                          "service S { rpc M(base.B) returns (base.B); }"}},
                        "top.proto");
  EXPECT_EQ(ReadFile(*file)->services[0].methods[0].request_type, "::base::B");
}

TEST(ReadFile, KeywordMethodIsEscapedButKeepsItsNameOnTheWire) {
  const FileModel model =
      ModelOf("service S { rpc delete(A) returns (A); rpc async(A) returns (A); rpc OnServerDrain(A) returns (A); }");
  EXPECT_EQ(model.services[0].methods[0].cpp_name, "delete_");
  EXPECT_EQ(model.services[0].methods[0].wire_name, "delete");
  EXPECT_EQ(model.services[0].methods[0].path, "demo.S/delete");
  EXPECT_EQ(model.services[0].methods[1].cpp_name, "async__");
  EXPECT_EQ(model.services[0].methods[2].cpp_name, "OnServerDrain_");
}

TEST(ReadFile, ServiceNamedLikeAMemberClassIsEscaped) {
  const FileModel model =
      ModelOf("service Stub {} service Stub_ {} service register {} service MockAsync {} service AsyncInterface {}");
  EXPECT_EQ(model.services[0].cpp_name, "Stub__");
  EXPECT_EQ(model.services[1].cpp_name, "Stub_");
  EXPECT_EQ(model.services[2].cpp_name, "register_");
  EXPECT_EQ(model.services[3].cpp_name, "MockAsync_");
  EXPECT_EQ(model.services[4].cpp_name, "AsyncInterface_");
  EXPECT_EQ(model.services[0].full_name, "demo.Stub");
  EXPECT_THAT(model.services[0].methods, IsEmpty());
}

TEST(ReadFile, ServiceWithoutAPackageIsNotNamedLikeANamespace) {
  const ParsedFile file("syntax = \"proto3\"; service verbena {} service std {} service Verbena {}");
  const absl::StatusOr<FileModel> model = ReadFile(*file);
  EXPECT_EQ(model->services[0].cpp_name, "verbena_");
  EXPECT_EQ(model->services[1].cpp_name, "std_");
  EXPECT_EQ(model->services[2].cpp_name, "Verbena");
  EXPECT_EQ(ModelOf("service verbena {}").services[0].cpp_name, "verbena");
}

TEST(ReadFile, ServiceNamedLikeAMessagesClassIsEscaped) {
  // ModelOf's messages are A_Inner, A_Inner_class and delete_ in C++.
  const FileModel model = ModelOf("message Stub_ {} service A_Inner {} service delete_ {} service Stub {}");
  EXPECT_EQ(model.services[0].cpp_name, "A_Inner_");
  EXPECT_EQ(model.services[1].cpp_name, "delete__");
  EXPECT_EQ(model.services[2].cpp_name, "Stub__");
}

TEST(ReadFile, ServiceNamedLikeTheClassOfAnImportedMessageIsEscaped) {
  const ParsedFile file({{"base.proto", "syntax = \"proto3\"; package demo; message B { enum Kind { NONE = 0; } }"},
                         {"top.proto",
                          "syntax = \"proto3\"; package demo; import \"base.proto\"; service B_Kind {} "
                          "service B_Kind_NONE {}"}},
                        "top.proto");
  EXPECT_EQ(ReadFile(*file)->services[0].cpp_name, "B_Kind_");
  EXPECT_EQ(ReadFile(*file)->services[1].cpp_name, "B_Kind_NONE_");
}

TEST(ReadFile, CommentsAreCarriedOver) {
  const FileModel model = ModelOf(
      "\n// Greets.\n// Twice.\nservice S {\n  /* Says\n   * hello. */\n  rpc M(A) returns (A);  // Really.\n"
      "\n  rpc N(A) returns (A);\n}\n");
  EXPECT_THAT(model.services[0].comment, ElementsAre(" Greets.", " Twice."));
  EXPECT_THAT(model.services[0].methods[0].comment, ElementsAre(" Says", " hello.", " Really."));
  EXPECT_THAT(model.services[0].methods[1].comment, IsEmpty());
}

TEST(ReadFile, BackslashAtTheEndOfACommentCannotSwallowCode) {
  const FileModel model = ModelOf("\n// C:\\dir\\ \\\nservice S {}\n");
  EXPECT_THAT(model.services[0].comment, ElementsAre(" C:\\dir"));
}

TEST(ReadFile, SaysWhichSidesOfAMethodStream) {
  const FileModel model = ModelOf(
      "service S {\n"
      "  rpc Unary(A) returns (A);\n"
      "  rpc Up(stream A) returns (A);\n"
      "  rpc Down(A) returns (stream A);\n"
      "  rpc Both(stream A) returns (stream A);\n"
      "}\n");
  std::vector<std::pair<bool, bool>> streams;
  for (const MethodModel& method : model.services[0].methods) {
    streams.emplace_back(method.client_streams, method.server_streams);
  }
  EXPECT_THAT(streams, ElementsAre(std::pair(false, false), std::pair(true, false), std::pair(false, true),
                                   std::pair(true, true)));
  EXPECT_TRUE(model.has_streams);
  EXPECT_FALSE(ModelOf("service S { rpc Unary(A) returns (A); }").has_streams);
}

TEST(ReadFile, KeywordInThePackageIsAnErrorWhenThereAreServices) {
  EXPECT_THAT(ErrorOf("syntax = \"proto3\"; package a.new.b; service S {}"),
              HasSubstr("package a.new.b: 'new' is a keyword of C++"));
  EXPECT_EQ(ErrorOf("syntax = \"proto3\"; package a.new.b; message M {}"), "");
}

TEST(ReadFile, GenericServicesAreAnError) {
  EXPECT_THAT(ErrorOf("syntax = \"proto3\"; option cc_generic_services = true; service S {}"),
              HasSubstr("cc_generic_services"));
}

}  // namespace
}  // namespace verbena::codegen
