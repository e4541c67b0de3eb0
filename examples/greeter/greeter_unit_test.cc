// Unit tests as a user of Verbena writes them: of a service, and of a caller. docs/testing.md explains.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "examples/greeter/greeter_mock.verbena.h"
#include "examples/greeter/greeter_service.h"
#include "rpc/certainty.h"
#include "rpc/client_context.h"
#include "testing/in_process_server.h"
#include "testing/virtual_time_server.h"

namespace verbena::examples {
namespace {

using ::testing::_;
using ::testing::DoAll;
using ::testing::Property;
using ::testing::Return;
using ::testing::SetArgPointee;

// A caller: greets somebody, and tries once more if the server has certainly not seen the call.
absl::StatusOr<std::string> Greeting(demo::Greeter::StubInterface& greeter, const std::string& name) {
  demo::HelloRequest request;
  request.set_name(name);
  demo::HelloReply reply;
  absl::Status status;
  for (int attempt = 0; attempt < 2; ++attempt) {
    verbena::ClientContext context;
    context.set_timeout(absl::Seconds(5));
    status = greeter.SayHello(&context, request, &reply);
    if (status.ok()) return reply.text();
    if (verbena::GetCertainty(status) != verbena::Certainty::kNotSent) break;
  }
  return status;
}

TEST(Greeter, GreetsByName) {
  BlockingGreeter service;
  auto server = verbena::testing::InProcessServer::Start({&service});
  ASSERT_TRUE(server.ok()) << server.status();
  auto channel = (*server)->NewChannel();
  ASSERT_TRUE(channel.ok()) << channel.status();
  demo::Greeter::Stub stub(*channel);
  EXPECT_EQ(*Greeting(stub, "Ada"), "Hello, Ada!");
  EXPECT_TRUE(absl::IsInvalidArgument(Greeting(stub, "").status()));
}

class GreetingTest : public ::testing::Test {
 protected:
  BlockingGreeter service_;
  std::unique_ptr<verbena::testing::VirtualTimeServer> server_ =
      *verbena::testing::VirtualTimeServer::Start({&service_});
  demo::Greeter::Stub stub_{*server_->NewChannel()};
};

TEST_F(GreetingTest, GivesUpAfterFiveSeconds) {
  server_->faults().SetMessageDelay(absl::Minutes(1));
  const absl::Time before = server_->loop().Now();
  EXPECT_TRUE(absl::IsDeadlineExceeded(Greeting(stub_, "Ada").status()));
  EXPECT_GE(server_->loop().Now() - before, absl::Seconds(5));
  EXPECT_LT(server_->loop().Now() - before, absl::Seconds(6));
}

TEST_F(GreetingTest, FindsTheServerAgain) {
  server_->faults().SetReachable(false);
  EXPECT_TRUE(absl::IsUnavailable(Greeting(stub_, "Ada").status()));
  server_->faults().SetReachable(true);
  server_->Advance(absl::Minutes(1));
  EXPECT_EQ(*Greeting(stub_, "Ada"), "Hello, Ada!");
}

TEST_F(GreetingTest, CallbackRunsWhenTheReplyIsThere) {
  server_->faults().SetMessageDelay(absl::Milliseconds(10));
  verbena::ClientContext context;
  demo::HelloRequest request;
  request.set_name("Ada");
  demo::HelloReply reply;
  std::optional<absl::Status> status;
  stub_.async()->SayHello(&context, &request, &reply, [&](absl::Status outcome) { status = outcome; });
  server_->Advance(absl::Milliseconds(19));
  EXPECT_FALSE(status.has_value());
  server_->Advance(absl::Milliseconds(1));
  EXPECT_EQ(status, absl::OkStatus());
}

TEST(Greeting, IsWhatTheServerSays) {
  demo::HelloReply reply;
  reply.set_text("Good day.");
  demo::Greeter::MockStub stub;
  EXPECT_CALL(stub, SayHello(_, Property(&demo::HelloRequest::name, "Ada"), _))
      .WillOnce(DoAll(SetArgPointee<2>(reply), Return(absl::OkStatus())));
  EXPECT_EQ(*Greeting(stub, "Ada"), "Good day.");
}

TEST(Greeting, DoesNotTryAgainWhatMayHaveBeenDone) {
  demo::Greeter::MockStub stub;
  EXPECT_CALL(stub, SayHello(_, _, _)).WillOnce(Return(absl::UnavailableError("the connection broke")));
  EXPECT_TRUE(absl::IsUnavailable(Greeting(stub, "Ada").status()));
}

}  // namespace
}  // namespace verbena::examples
