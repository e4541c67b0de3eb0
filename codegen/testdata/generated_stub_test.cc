// Runs generated stubs against a channel that is a double.

#include "codegen/testdata/corners.verbena.h"
#include "codegen/testdata/greeter.verbena.h"
#include "codegen/testdata/lite.verbena.h"
#include "codegen/testdata/no_package.verbena.h"
#include "codegen/testdata/unary_call_double.h"
#include "gtest/gtest.h"

namespace {

class GreeterStub : public ::testing::Test {
 protected:
  GreeterStub() {
    demo::HelloReply answer;
    answer.set_text("hello, Ada");
    channel_->reply_bytes = answer.SerializeAsString();
    request_.set_name("Ada");
  }

  const std::shared_ptr<verbena::Channel> channel_ = std::make_shared<verbena::Channel>();
  verbena::ClientContext context_;
  demo::HelloRequest request_;
  demo::HelloReply reply_;
};

TEST_F(GreeterStub, BlockingCallReachesTheChannelAndFillsTheReply) {
  demo::Greeter::Stub stub(channel_);
  const absl::Status status = stub.SayHello(&context_, request_, &reply_);
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(channel_->method, "demo.Greeter/SayHello");
  EXPECT_EQ(channel_->request_bytes, request_.SerializeAsString());
  EXPECT_EQ(channel_->context, &context_);
  EXPECT_FALSE(channel_->callback);
  EXPECT_EQ(reply_.text(), "hello, Ada");
}

TEST_F(GreeterStub, StatusOfTheCallIsReturned) {
  channel_->status = absl::UnavailableError("no server");
  demo::Greeter::Stub stub(channel_);
  EXPECT_EQ(stub.SayGoodbye(&context_, request_, &reply_), absl::UnavailableError("no server"));
  EXPECT_EQ(channel_->method, "demo.Greeter/SayGoodbye");
}

TEST_F(GreeterStub, CallbackRunsOnceWithTheStatus) {
  demo::Greeter::Stub stub(channel_);
  int runs = 0;
  stub.async()->SayHello(&context_, &request_, &reply_, [&](absl::Status status) {
    EXPECT_TRUE(status.ok()) << status;
    ++runs;
  });
  EXPECT_EQ(runs, 1);
  EXPECT_TRUE(channel_->callback);
  EXPECT_EQ(reply_.text(), "hello, Ada");
}

TEST_F(GreeterStub, CallbackMayOwnWhatCannotBeCopied) {
  demo::Greeter::Stub stub(channel_);
  std::string text;
  stub.async()->SayHello(&context_, &request_, &reply_,
                         [owned = std::make_unique<std::string>("owned"), &text](absl::Status) { text = *owned; });
  EXPECT_EQ(text, "owned");
}

TEST_F(GreeterStub, CopyKeepsTheChannel) {
  auto original = std::make_unique<demo::Greeter::Stub>(channel_);
  demo::Greeter::Stub copy = *original;
  original.reset();
  copy.async()->SayHello(&context_, &request_, &reply_, [](absl::Status) {});
  EXPECT_EQ(channel_->method, "demo.Greeter/SayHello");
  EXPECT_EQ(channel_.use_count(), 2);
}

TEST(CornerStub, EscapedMethodsCallTheNamesOfTheProto) {
  const auto channel = std::make_shared<verbena::Channel>();
  verbena::ClientContext context;
  verbena_test::verbena::absl::register_::Stub stub(channel);
  verbena_test::verbena::absl::Outer_Inner_class reply;
  EXPECT_TRUE(stub.delete__(&context, verbena_test::verbena::absl::delete_(), &reply).ok());
  EXPECT_EQ(channel->method, "verbena_test.verbena.absl.register/delete");

  verbena_test::verbena::absl::Stub_::Stub odd(channel);
  verbena_test::verbena::absl::Outer outer;
  odd.async()->async__(&context, &outer, &outer, [](absl::Status) {});
  EXPECT_EQ(channel->method, "verbena_test.verbena.absl.Stub/async");
}

TEST(CornerStub, FileWithoutPackageHasItsServiceInTheGlobalNamespace) {
  const auto channel = std::make_shared<verbena::Channel>();
  ::Ping ping;
  ping.set_number(7);
  channel->reply_bytes = ping.SerializeAsString();
  verbena::ClientContext context;
  ::Ping pong;
  EXPECT_TRUE(::Pinger::Stub(channel).Ping(&context, ping, &pong).ok());
  EXPECT_EQ(channel->method, "Pinger/Ping");
  EXPECT_EQ(pong.number(), 7);
}

TEST(CornerStub, LiteMessagesAreServed) {
  const auto channel = std::make_shared<verbena::Channel>();
  verbena::ClientContext context;
  verbena_test::Small request;
  verbena_test::Small reply;
  request.set_number(3);
  EXPECT_TRUE(verbena_test::LiteService::Stub(channel).Echo(&context, request, &reply).ok());
  EXPECT_EQ(channel->request_bytes, request.SerializeAsString());
}

}  // namespace
