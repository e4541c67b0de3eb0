// Runs generated services as the runtime does: by their table of methods.

#include "codegen/testdata/corners.verbena.h"
#include "codegen/testdata/greeter.verbena.h"
#include "codegen/testdata/imports.verbena.h"
#include "codegen/testdata/unary_call_double.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace {

using ::testing::HasSubstr;

class BlockingGreeter final : public demo::Greeter::Service {
 public:
  absl::Status SayHello(verbena::ServerContext* context, const demo::HelloRequest* request,
                        demo::HelloReply* reply) override {
    seen = context;
    reply->set_text("hello, " + request->name());
    return absl::OkStatus();
  }
  verbena::ServerContext* seen = nullptr;
};

class CallbackGreeter final : public demo::Greeter::CallbackService {
 public:
  void SayHello(verbena::ServerContext* context, const demo::HelloRequest* request, demo::HelloReply* reply,
                verbena::Responder done) override {
    reply->set_text("hello, " + request->name());
    pending = std::move(done);
  }
  verbena::Responder pending;
};

TEST(GeneratedService, DescribesItself) {
  BlockingGreeter service;
  EXPECT_EQ(service.full_name(), "demo.Greeter");
  EXPECT_STREQ(demo::Greeter::kFullName, "demo.Greeter");
  ASSERT_EQ(service.methods().size(), 2u);
  EXPECT_EQ(service.methods()[0].name, "SayHello");
  EXPECT_EQ(service.methods()[1].name, "SayGoodbye");
}

TEST(GeneratedService, BlockingHandlerIsCalledWithItsOwnTypes) {
  BlockingGreeter service;
  const verbena::Method& method = service.methods()[0];
  ASSERT_TRUE(method.blocking);
  EXPECT_FALSE(method.callback);
  const auto request = method.new_request();
  const auto reply = method.new_reply();
  dynamic_cast<demo::HelloRequest&>(*request).set_name("Ada");
  verbena::ServerContext context;
  EXPECT_EQ(context.peer(), "");
  EXPECT_FALSE(context.peer_identity().authenticated());
  EXPECT_TRUE(method.blocking(&context, *request, reply.get()).ok());
  EXPECT_EQ(dynamic_cast<demo::HelloReply&>(*reply).text(), "hello, Ada");
  EXPECT_EQ(service.seen, &context);
}

TEST(GeneratedService, CallbackHandlerMayAnswerLater) {
  CallbackGreeter service;
  const verbena::Method& method = service.methods()[0];
  ASSERT_TRUE(method.callback);
  EXPECT_FALSE(method.blocking);
  const auto request = method.new_request();
  const auto reply = method.new_reply();
  verbena::ServerContext context;
  int answers = 0;
  method.callback(&context, *request, reply.get(), [&](absl::Status status) { answers += status.ok(); });
  EXPECT_EQ(answers, 0);
  service.pending(absl::OkStatus());
  EXPECT_EQ(answers, 1);
}

TEST(GeneratedService, MethodThatIsNotOverriddenIsUnimplemented) {
  verbena::ServerContext context;
  demo::HelloRequest request;
  demo::HelloReply reply;

  BlockingGreeter blocking;
  absl::Status status = blocking.methods()[1].blocking(&context, request, &reply);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(status.message()), HasSubstr("demo.Greeter/SayGoodbye"));

  status = absl::OkStatus();
  CallbackGreeter callback;
  callback.methods()[1].callback(&context, request, &reply, [&](absl::Status s) { status = s; });
  EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
}

TEST(GeneratedService, ServiceWithoutMethodsHasAnEmptyTable) {
  verbena_test::verbena::absl::Empty::Service service;
  EXPECT_TRUE(service.methods().empty());
  EXPECT_EQ(service.full_name(), "verbena_test.verbena.absl.Empty");
}

TEST(GeneratedService, EscapedMethodKeepsItsNameOnTheWire) {
  verbena_test::verbena::absl::register_::Service service;
  ASSERT_EQ(service.methods().size(), 3u);
  EXPECT_EQ(service.methods()[0].name, "delete");
  EXPECT_EQ(service.methods()[1].name, "delete_");
  EXPECT_EQ(service.full_name(), "verbena_test.verbena.absl.register");
}

TEST(GeneratedService, ImportedTypesAreThoseOfTheirPackage) {
  verbena_test::app::Importer::Service service;
  EXPECT_EQ(service.methods()[0].new_request()->GetTypeName(), "verbena_test.base.Base");
  EXPECT_EQ(service.methods()[0].new_reply()->GetTypeName(), "verbena_test.base.Base.Nested");
  EXPECT_EQ(service.methods()[1].new_reply()->GetTypeName(), "google.protobuf.Empty");
}

}  // namespace
