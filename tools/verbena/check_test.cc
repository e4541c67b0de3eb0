#include "tools/verbena/check.h"

#include <memory>
#include <sstream>
#include <string>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "rpc/health/health_service.h"
#include "rpc/server.h"
#include "rpc/server_context.h"
#include "tools/verbena/check_service.h"
#include "tools/verbena/pattern.h"

namespace verbena::tools {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Pattern, IsTheSameForTheSameSeedAndTellsTheFirstByteThatDiffers) {
  absl::Cord bytes = *MakePattern(7, 1000);
  EXPECT_EQ(ComparePattern(bytes, 7, 1000), absl::OkStatus());
  EXPECT_EQ(ComparePattern(bytes, 8, 1000).code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(ComparePattern(bytes, 7, 1001).message()), HasSubstr("1000 bytes arrived of 1001"));
  std::string spoiled(bytes);
  spoiled[500] ^= 1;
  EXPECT_THAT(std::string(ComparePattern(absl::Cord(spoiled), 7, 1000).message()), HasSubstr("byte 500 of 1000"));
}

// A server whose replies are not what was asked for.
class SpoilingService final : public check::Check::Service {
 public:
  absl::Status Echo(ServerContext*, const check::EchoRequest*, check::EchoReply*) override { return absl::OkStatus(); }
  absl::Status Take(ServerContext*, const check::Pattern*, check::Nothing*) override {
    return absl::DataLossError("byte 3");
  }
  absl::Status Give(ServerContext* context, const check::Pattern* request, check::Nothing*) override {
    context->set_attachment(absl::Cord(std::string(request->bytes(), '?')));
    return absl::OkStatus();
  }
  absl::Status Hold(ServerContext*, const check::Nothing*, check::Nothing*) override { return absl::OkStatus(); }
};

struct Outcome {
  bool ok;
  std::string said;
};

Outcome CheckAgainst(const std::string& address) {
  std::ostringstream said;
  absl::StatusOr<std::shared_ptr<Channel>> channel = Channel::Create(address);
  EXPECT_TRUE(channel.ok()) << channel.status();
  const bool ok = RunCheck(*std::move(channel), said);
  return {ok, said.str()};
}

std::unique_ptr<Server> Serve(Service* service) {
  absl::StatusOr<std::unique_ptr<Server>> server =
      Server::Builder().AddListeningAddress("soft://127.0.0.1:0").RegisterService(service).Build();
  EXPECT_TRUE(server.ok()) << server.status();
  return *std::move(server);
}

TEST(Check, OfAServerThatWorksSaysSoOfEachKindOfCall) {
  CheckService service;
  const std::unique_ptr<Server> server = Serve(&service);
  const Outcome outcome = CheckAgainst(server->addresses().front());
  EXPECT_TRUE(outcome.ok) << outcome.said;
  EXPECT_THAT(outcome.said, AllOf(HasSubstr("ok      connection:"), HasSubstr("ok      small calls:"),
                                  HasSubstr("ok      large request:"), HasSubstr("ok      large reply:"),
                                  HasSubstr("ok      deadline:"), HasSubstr("ok      cancellation:"),
                                  HasSubstr("channel: "), Not(HasSubstr("FAILED"))));
}

TEST(Check, NoticesWhatDoesNotArriveAsItWasSent) {
  SpoilingService service;
  const std::unique_ptr<Server> server = Serve(&service);
  const Outcome outcome = CheckAgainst(server->addresses().front());
  EXPECT_FALSE(outcome.ok);
  EXPECT_THAT(outcome.said,
              AllOf(HasSubstr("ok      connection:"), HasSubstr("FAILED  small calls: DATA_LOSS"),
                    HasSubstr("FAILED  large request: DATA_LOSS"), HasSubstr("FAILED  large reply: DATA_LOSS: byte 0"),
                    HasSubstr("FAILED  deadline: INTERNAL: the call ended with OK")));
}

TEST(Check, WithoutAServerSaysWhyAndTriesNothingElse) {
  const Outcome outcome = CheckAgainst("soft://127.0.0.1:1");
  EXPECT_FALSE(outcome.ok);
  EXPECT_THAT(outcome.said, AllOf(HasSubstr("FAILED  connection: UNAVAILABLE"), Not(HasSubstr("small calls"))));
}

TEST(Check, OfAServerOfOtherServicesSaysWhichOneIsChecked) {
  HealthService service;
  const std::unique_ptr<Server> server = Serve(&service);
  const Outcome outcome = CheckAgainst(server->addresses().front());
  EXPECT_FALSE(outcome.ok);
  EXPECT_THAT(outcome.said, AllOf(HasSubstr("FAILED  connection: UNIMPLEMENTED"), HasSubstr("`verbena check-server`")));
}

}  // namespace
}  // namespace verbena::tools
