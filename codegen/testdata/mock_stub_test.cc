// Callers of a generated StubInterface, with its MockStub and with the Stub.

#include <gmock/gmock.h>
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <cassert>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "codegen/testdata/mocked_mock.verbena.h"
#include "rpc/client_context.h"
#include "testing/in_process_server.h"

namespace demo::mocked {
namespace {

using ::testing::_;
using ::testing::ByMove;
using ::testing::DoAll;
using ::testing::Property;
using ::testing::Return;
using ::testing::SetArgPointee;
using ::testing::StrictMock;

Answer AnswerOf(std::string text) {
  Answer answer;
  answer.set_text(std::move(text));
  return answer;
}

// What is tested with a mock: asks until there is an answer.
absl::StatusOr<std::string> AskTwice(Oracle::StubInterface& oracle, std::string text) {
  Question question;
  question.set_text(std::move(text));
  Answer answer;
  absl::Status status;
  for (int i = 0; i < 2; ++i) {
    verbena::ClientContext context;
    status = oracle.Ask(&context, question, &answer);
    if (status.ok()) return answer.text();
  }
  return status;
}

class RealOracle final : public Oracle::Service {
 public:
  absl::Status Ask(verbena::ServerContext*, const Question* question, Answer* answer) override {
    answer->set_text(question->text());
    return absl::OkStatus();
  }
  absl::Status Talk(verbena::ServerContext*, verbena::ServerReaderWriter<Answer, Question>* stream) override {
    return stream->Write(AnswerOf("hello"));
  }
};

TEST(MockStub, BlockingCallReturnsWhatTheTestSays) {
  StrictMock<Oracle::MockStub> oracle;
  EXPECT_CALL(oracle, Ask(_, Property(&Question::text, "why?"), _))
      .WillOnce(Return(absl::UnavailableError("busy")))
      .WillOnce(DoAll(SetArgPointee<2>(AnswerOf("because")), Return(absl::OkStatus())));
  EXPECT_EQ(*AskTwice(oracle, "why?"), "because");
}

TEST(MockStub, CallbackRunsWhenTheTestWantsIt) {
  Oracle::MockStub oracle;
  verbena::CallDone held;
  EXPECT_CALL(*oracle.async(), Ask(_, _, _, _))
      .WillOnce([&](verbena::ClientContext*, const Question*, Answer* answer, verbena::CallDone done) {
        *answer = AnswerOf("later");
        held = std::move(done);
      });
  Oracle::StubInterface& caller = oracle;
  Answer answer;
  std::optional<absl::Status> status;
  caller.async()->Ask(nullptr, nullptr, &answer, [&](absl::Status outcome) { status = std::move(outcome); });
  EXPECT_FALSE(status.has_value());
  held(absl::OkStatus());
  EXPECT_EQ(status, absl::OkStatus());
  EXPECT_EQ(answer.text(), "later");
}

TEST(MockStub, StreamMayBeOneToAServerOfTheTest) {
  RealOracle real;
  const auto server = *verbena::testing::InProcessServer::Start({&real});
  Oracle::Stub stub(*server->NewChannel());
  verbena::ClientContext context;
  Oracle::MockStub oracle;
  EXPECT_CALL(oracle, Talk(&context)).WillOnce(Return(ByMove(stub.Talk(&context))));
  Oracle::StubInterface& caller = oracle;
  auto stream = caller.Talk(&context);
  Answer answer;
  ASSERT_TRUE(stream->Read(&answer));
  EXPECT_EQ(answer.text(), "hello");
  EXPECT_EQ(stream->Finish(), absl::OkStatus());
}

TEST(StubInterface, StubImplementsIt) {
  RealOracle real;
  const auto server = *verbena::testing::InProcessServer::Start({&real});
  Oracle::Stub stub(*server->NewChannel());
  EXPECT_EQ(*AskTwice(stub, "echo"), "echo");
}

TEST(MockStub, StrictOneIsStrictAboutItsAsynchronousCalls) {
  EXPECT_NONFATAL_FAILURE(
      {
        StrictMock<Oracle::MockStub> oracle;
        oracle.async()->Ask(nullptr, nullptr, nullptr, nullptr);
      },
      "Uninteresting mock function call");
}

TEST(MockStub, MethodsThatAreNamedLikeMacrosHaveAnUnderscore) {
  StrictMock<TEST_::MockStub> stub;
  EXPECT_CALL(stub, assert_(_, _, _)).WillOnce(DoAll(SetArgPointee<2>(AnswerOf("yes")), Return(absl::OkStatus())));
  verbena::ClientContext context;
  Answer answer;
  EXPECT_EQ(static_cast<TEST_::StubInterface&>(stub).assert_(&context, {}, &answer), absl::OkStatus());
  EXPECT_EQ(answer.text(), "yes");
}

}  // namespace
}  // namespace demo::mocked
