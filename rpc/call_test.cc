// Whole calls, client and server, over the doubles: what callers and handlers see.

#include <google/protobuf/descriptor.pb.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "rpc/testing/call_fixture.h"

namespace verbena {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::Text;

constexpr absl::string_view kEcho = "test.Lambda/Echo";
constexpr absl::string_view kHold = "test.Lambda/Hold";

class CallTest : public testing::CallFixture {
 protected:
  // Makes a call. So many sends of each end must have been awaited.
  void ExpectAwaited(size_t by_client, size_t by_server) {
    Start();
    ASSERT_TRUE(Call(kEcho, "hello")->status().ok());
    EXPECT_EQ(network_.latest_client()->awaited_sent(), by_client);
    EXPECT_EQ(network_.latest_server()->awaited_sent(), by_server);
  }
};

TEST_F(CallTest, CallbackCallReturnsTheReply) {
  Start();
  const auto call = Call(kEcho, "hello");
  ASSERT_TRUE(call->done());
  EXPECT_EQ(call->status(), absl::OkStatus());
  EXPECT_EQ(call->reply.value(), "hello");
  EXPECT_EQ(server_->tally().calls(), 0u);
}

TEST_F(CallTest, BlockingCallDrivesTheUsersLoop) {
  Start();
  ClientContext context;
  Text request, reply;
  request.set_value("hello");
  EXPECT_EQ(BlockingUnaryCall(*channel_, kEcho, &context, request, &reply), absl::OkStatus());
  EXPECT_EQ(reply.value(), "hello");
}

TEST_F(CallTest, LargeRequestAndReplyArriveWhole) {
  Start();
  const std::string text(1 << 20, 'x');
  const auto call = Call(kEcho, text);
  ASSERT_TRUE(call->done());
  EXPECT_EQ(call->reply.value(), text);
}

TEST_F(CallTest, AttachmentsTravelBesideTheMessages) {
  Start();
  for (const size_t bytes : {1, 100000}) {
    auto call = MakeCall("body");
    call->context.set_attachment(absl::Cord(std::string(bytes, 'a')));
    StartCall(kEcho, *call);
    loop_.RunUntilIdle();
    EXPECT_EQ(call->reply.value(), "body");
    EXPECT_EQ(call->context.attachment(), std::string(bytes, 'a'));
  }
}

TEST_F(CallTest, EmptyMessagesAreCallsToo) {
  Start();
  const auto call = Call(kEcho, "");
  EXPECT_EQ(call->status(), absl::OkStatus());
}

TEST_F(CallTest, UnknownMethodAndServiceAreNamed) {
  Start();
  ExpectFailed(*Call("test.Lambda/Nope"), absl::StatusCode::kUnimplemented, Certainty::kNotSent, "test.Lambda/Nope");
  ExpectFailed(*Call("other.Service/Nope", std::string(100000, 'x')), absl::StatusCode::kUnimplemented,
               Certainty::kNotSent, "other.Service");
  EXPECT_EQ(Call(kEcho)->status(), absl::OkStatus());
}

TEST_F(CallTest, MethodNameThatNoHeaderCarriesIsRefusedUnsent) {
  Start();
  const std::string too_long(513, 'x');
  for (const absl::string_view name :
       {absl::string_view(), absl::string_view("test.Lambda/E\ncho"), absl::string_view(too_long)}) {
    ExpectFailed(*Call(name), absl::StatusCode::kInvalidArgument, Certainty::kNotSent, "method");
  }
  EXPECT_EQ(Call(kEcho)->status(), absl::OkStatus());
  EXPECT_EQ(server_->tally().accepted, 1u);
}

TEST_F(CallTest, RequestWithoutItsRequiredFieldsIsRefusedUnsentNamingThem) {
  Start();
  const google::protobuf::UninterpretedOption::NamePart request;
  ClientContext context;
  Text reply;
  absl::Status status;
  CallbackUnaryCall(*channel_, kEcho, &context, &request, &reply, [&](absl::Status end) { status = std::move(end); });
  loop_.RunUntilIdle();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_EQ(GetCertainty(status), Certainty::kNotSent);
  EXPECT_THAT(std::string(status.message()), HasSubstr("name_part, is_extension"));
}

TEST_F(CallTest, HandlersErrorArrivesAsExecuted) {
  service_.AddCallback(
      "Fail", [](ServerContext*, const Text&, Text*, Responder done) { done(absl::NotFoundError("no such thing")); });
  Start();
  ExpectFailed(*Call("test.Lambda/Fail"), absl::StatusCode::kNotFound, Certainty::kExecuted, "no such thing");
}

TEST_F(CallTest, ThrowingHandlerEndsItsCallAsInternalWithWhat) {
  service_.AddCallback("Throw",
                       [](ServerContext*, const Text&, Text*, Responder) { throw std::runtime_error("out of luck"); });
  service_.AddCallback("ThrowAfter", [](ServerContext*, const Text&, Text* reply, Responder done) {
    done(absl::OkStatus());
    throw 7;
  });
  Start();
  ExpectFailed(*Call("test.Lambda/Throw"), absl::StatusCode::kInternal, Certainty::kExecuted, "out of luck");
  EXPECT_EQ(Call("test.Lambda/ThrowAfter")->status(), absl::OkStatus());
  EXPECT_EQ(Call(kEcho)->status(), absl::OkStatus());
}

TEST_F(CallTest, DroppedResponderEndsTheCallAsInternal) {
  service_.AddCallback("Drop", [](ServerContext*, const Text&, Text*, Responder) {});
  Start();
  ExpectFailed(*Call("test.Lambda/Drop"), absl::StatusCode::kInternal, Certainty::kExecuted, "dropped its responder");
  const auto held = Call(kHold);
  held_.clear();
  loop_.RunUntilIdle();
  ExpectFailed(*held, absl::StatusCode::kInternal, Certainty::kExecuted, "dropped its responder");
}

TEST_F(CallTest, HeldResponderAnswersLaterAndOnlyOnce) {
  Start();
  const auto call = Call(kHold);
  EXPECT_FALSE(call->done());
  held_.at(0).reply->set_value("late");
  held_.at(0).done(absl::OkStatus());
  held_.at(0).done(absl::AbortedError("again"));
  loop_.RunUntilIdle();
  ASSERT_EQ(call->completions.size(), 1u);
  EXPECT_EQ(call->reply.value(), "late");
}

TEST(ResponderTest, MadeOfALambdaItTellsItOnce) {
  std::vector<absl::Status> ends;
  Responder done = [&ends](absl::Status status) { ends.push_back(std::move(status)); };
  EXPECT_TRUE(done);
  Responder moved = std::move(done);
  EXPECT_TRUE(done == nullptr);
  done(absl::AbortedError("nobody's any more"));
  moved(absl::NotFoundError("first"));
  moved(absl::AbortedError("again"));
  EXPECT_THAT(ends, ElementsAre(absl::NotFoundError("first")));
}

TEST(ResponderTest, MadeOfNoFunctionItIsNone) {
  EXPECT_TRUE(Responder(CallDone()) == nullptr);
  EXPECT_TRUE(Responder(std::function<void(absl::Status)>()) == nullptr);
  EXPECT_TRUE(Responder(static_cast<void (*)(absl::Status)>(nullptr)) == nullptr);
}

TEST(ResponderTest, DroppedOrReplacedItLetsItsLambdaGo) {
  const auto kept = std::make_shared<int>();
  const auto responder_that_keeps_it = [&kept] { return Responder([kept](const absl::Status&) {}); };
  {
    const Responder dropped = responder_that_keeps_it();
    EXPECT_EQ(kept.use_count(), 2);
  }
  EXPECT_EQ(kept.use_count(), 1);
  Responder replaced = responder_that_keeps_it();
  replaced = nullptr;
  EXPECT_EQ(kept.use_count(), 1);
}

TEST_F(CallTest, TooLargeRequestIsRefusedByTheClientSayingBothNumbers) {
  options_.transport.message_bytes_max = 1000;
  Start();
  const auto call = Call(kEcho, std::string(2000, 'x'));
  ExpectFailed(*call, absl::StatusCode::kResourceExhausted, Certainty::kNotSent, "2003");
  EXPECT_THAT(std::string(call->status().message()), HasSubstr("1000"));
}

TEST_F(CallTest, TooLargeRequestIsRefusedByTheServerUnfetched) {
  session_options_.message_bytes_max = 1000;
  Start();
  ExpectFailed(*Call(kEcho, std::string(100000, 'x')), absl::StatusCode::kResourceExhausted, Certainty::kNotSent,
               "message_bytes_max = 1000");
  ExpectFailed(*Call(kEcho, std::string(2000, 'x')), absl::StatusCode::kResourceExhausted, Certainty::kNotSent,
               "message_bytes_max = 1000");
}

TEST_F(CallTest, TooLargeReplyIsRefusedByTheServer) {
  session_options_.message_bytes_max = 1000;
  service_.AddCallback("Big", [](ServerContext*, const Text&, Text* reply, Responder done) {
    reply->set_value(std::string(5000, 'x'));
    done(absl::OkStatus());
  });
  Start();
  ExpectFailed(*Call("test.Lambda/Big"), absl::StatusCode::kResourceExhausted, Certainty::kExecuted, "5003");
}

TEST_F(CallTest, TooLargeReplyIsRefusedByTheClient) {
  options_.transport.message_bytes_max = 1000;
  for (const int bytes : {2000, 100000}) {
    service_.AddCallback(absl::StrCat("Big", bytes), [bytes](ServerContext*, const Text&, Text* reply, Responder done) {
      reply->set_value(std::string(bytes, 'x'));
      done(absl::OkStatus());
    });
  }
  Start();
  ExpectFailed(*Call("test.Lambda/Big2000"), absl::StatusCode::kResourceExhausted, Certainty::kExecuted, "1000");
  ExpectFailed(*Call("test.Lambda/Big100000"), absl::StatusCode::kResourceExhausted, Certainty::kExecuted, "1000");
  EXPECT_EQ(server_->tally().calls(), 0u);
}

TEST_F(CallTest, CallsPastTheChannelsLimitFailAtOnce) {
  options_.calls_in_flight_max = 2;
  Start();
  const auto first = Call(kHold);
  const auto second = Call(kHold);
  ExpectFailed(*Call(kHold), absl::StatusCode::kResourceExhausted, Certainty::kNotSent, "calls_in_flight_max");
  held_.clear();
  loop_.RunUntilIdle();
  EXPECT_EQ(Call(kEcho)->status(), absl::OkStatus());
}

TEST_F(CallTest, CallsPastTheServersLimitAreRejected) {
  calls_max_ = 1;
  Start();
  const auto first = Call(kHold);
  ExpectFailed(*Call(kEcho), absl::StatusCode::kResourceExhausted, Certainty::kNotSent, "in flight");
  held_.at(0).done(absl::OkStatus());
  loop_.RunUntilIdle();
  EXPECT_EQ(Call(kEcho)->status(), absl::OkStatus());
}

TEST_F(CallTest, CallFromACompletionPostsNothingOfOurs) {
  Start();
  auto first = MakeCall("one"), second = MakeCall("two");
  size_t posted_by_start = 1000;
  CallbackUnaryCall(*channel_, kEcho, &first->context, &first->request, &first->reply, [&](absl::Status) {
    const auto posted_by_us = [this] { return loop_.posted() - network_.latest_client()->tasks_posted(); };
    const size_t before = posted_by_us();
    StartCall(kEcho, *second);
    posted_by_start = posted_by_us() - before;
  });
  loop_.RunUntilIdle();
  EXPECT_EQ(posted_by_start, 0u);
  EXPECT_EQ(second->reply.value(), "two");
}

TEST_F(CallTest, NobodyAwaitsTheDeliveryOfRequestAndResponse) { ExpectAwaited(/*by_client=*/0, /*by_server=*/0); }

TEST_F(CallTest, ThatOfTheResponseIsAwaitedWhereTheServersPlacesAreShort) {
  session_options_.calls_max = 1;
  ExpectAwaited(/*by_client=*/0, /*by_server=*/1);
}

TEST_F(CallTest, ThatOfTheRequestIsAwaitedWhereTheChannelsPlacesAreShort) {
  options_.calls_in_flight_max = 1;
  ExpectAwaited(/*by_client=*/1, /*by_server=*/0);
}

TEST_F(CallTest, BlockingCallInACompletionIsRefusedInWords) {
  Start();
  auto call = MakeCall("one");
  absl::Status nested;
  CallbackUnaryCall(*channel_, kEcho, &call->context, &call->request, &call->reply, [&](absl::Status) {
    ClientContext context;
    Text reply;
    nested = BlockingUnaryCall(*channel_, kEcho, &context, call->request, &reply);
  });
  loop_.RunUntilIdle();
  EXPECT_EQ(nested.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(nested.message()), HasSubstr("callback form"));
}

TEST_F(CallTest, CompletionThatThrowsIsALineInTheLogAndOthersComplete) {
  std::vector<std::string> warnings;
  SetLogSink([&warnings](Severity severity, absl::string_view text) {
    if (severity == Severity::kWarning) warnings.emplace_back(text);
  });
  Start();
  const auto thrower = MakeCall("one");
  CallbackUnaryCall(*channel_, kEcho, &thrower->context, &thrower->request, &thrower->reply,
                    [](absl::Status) { throw std::runtime_error("out of luck"); });
  const auto other = Call(kEcho);
  SetLogSink(nullptr);
  EXPECT_THAT(warnings, ElementsAre("a call's completion threw: out of luck"));
  EXPECT_EQ(other->completions, std::vector<absl::Status>(1));
}

TEST_F(CallTest, ContextIsUsedAgainAfterReset) {
  Start();
  auto call = MakeCall("one");
  for (int i = 0; i < 3; ++i) {
    call->context.Reset();
    StartCall(kEcho, *call);
    loop_.RunUntilIdle();
  }
  EXPECT_EQ(call->completions, std::vector<absl::Status>(3));
}

}  // namespace
}  // namespace verbena
