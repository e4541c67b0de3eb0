#include "transport/protocol/authentication_exchange.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "transport/protocol/frame_of.h"
#include "transport/protocol/limits.h"

namespace verbena::protocol {
namespace {

using testing::HasSubstr;
using wire::AuthenticationStep;

constexpr uint32_t kPeerBufferBytes = 1024;

FrameOf Message(AuthenticationStep step, const std::string& text) {
  wire::FrameHeader header = HeaderOf(wire::FrameType::kAuthenticate);
  header.aux = static_cast<uint32_t>(step);
  header.call_header_bytes = static_cast<uint16_t>(text.size());
  return FrameOf(header, {}, text);
}

class Exchange : public testing::Test {
 protected:
  static AuthenticationExchange Make(bool initiator) {
    return AuthenticationExchange(initiator, kPeerBufferBytes, absl::InfiniteFuture());
  }
  static void Say(AuthenticationExchange& one, const std::string& text, bool accept = false) {
    ASSERT_TRUE(one.OnAnswer(text, accept).ok());
    ASSERT_TRUE(one.FrameDue());
    one.NextFrame();
  }
  static absl::Status Hear(AuthenticationExchange& one, AuthenticationStep step, const std::string& text = "") {
    return one.OnFrame(Message(step, text).view());
  }
  static void ExpectError(const absl::Status& status, absl::string_view words) {
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), HasSubstr(words));
  }

  AuthenticationExchange client_ = Make(true);
  AuthenticationExchange server_ = Make(false);
};

TEST_F(Exchange, TheClientBegins) {
  EXPECT_TRUE(client_.asking());
  EXPECT_FALSE(server_.asking());
  ASSERT_TRUE(client_.OnAnswer("hello", false).ok());
  const PostAuthenticate frame = client_.NextFrame();
  EXPECT_EQ(frame.message, "hello");
  EXPECT_EQ(frame.header.call_header_bytes, 5);
  EXPECT_EQ(frame.header.aux, static_cast<uint32_t>(AuthenticationStep::kContinue));
}

TEST_F(Exchange, BothAgreeWhenBothHaveAccepted) {
  Say(client_, "nonce");
  ASSERT_TRUE(Hear(server_, AuthenticationStep::kContinue, "nonce").ok());
  EXPECT_TRUE(server_.asking());
  Say(server_, "proof", true);
  EXPECT_FALSE(server_.agreed());  // Not before the client is content, too.
  ASSERT_TRUE(Hear(client_, AuthenticationStep::kAccept, "proof").ok());
  EXPECT_TRUE(client_.asking());
  Say(client_, "", true);
  EXPECT_TRUE(client_.agreed());
  ASSERT_TRUE(Hear(server_, AuthenticationStep::kAccept).ok());
  EXPECT_TRUE(server_.agreed());
}

TEST_F(Exchange, AMessageOutOfTurnIsAProtocolError) {
  ExpectError(Hear(client_, AuthenticationStep::kContinue), "out of turn");
  ASSERT_TRUE(Hear(server_, AuthenticationStep::kContinue).ok());
  ExpectError(Hear(server_, AuthenticationStep::kContinue), "out of turn");
}

TEST_F(Exchange, AClientThatAcceptsBeforeTheServerIsAProtocolError) {
  ExpectError(Hear(server_, AuthenticationStep::kAccept), "too early");
}

TEST_F(Exchange, AClientThatGoesOnAfterTheServersAcceptIsAProtocolError) {
  ASSERT_TRUE(Hear(server_, AuthenticationStep::kContinue).ok());
  Say(server_, "", true);
  ExpectError(Hear(server_, AuthenticationStep::kContinue), "after the end");
}

TEST_F(Exchange, ALastWordWithAMessageIsAProtocolError) {
  ASSERT_TRUE(Hear(server_, AuthenticationStep::kContinue).ok());
  Say(server_, "", true);
  ExpectError(Hear(server_, AuthenticationStep::kAccept, "and another thing"), "has a message");
}

TEST_F(Exchange, MessagesPastTheLimitAreAProtocolError) {
  for (uint32_t i = 0; i < kAuthenticationMessagesMax; ++i) {
    ASSERT_TRUE(Hear(server_, AuthenticationStep::kContinue).ok());
    Say(server_, "more");
  }
  ExpectError(Hear(server_, AuthenticationStep::kContinue), "too many");
}

TEST_F(Exchange, AMessagePastItsLimitIsAProtocolError) {
  EXPECT_TRUE(Hear(server_, AuthenticationStep::kContinue, std::string(kAuthenticationBytesMax, 'x')).ok());
  AuthenticationExchange other = Make(false);
  ExpectError(Hear(other, AuthenticationStep::kContinue, std::string(kAuthenticationBytesMax + 1, 'x')), "too long");
}

TEST_F(Exchange, OurMessageMustFitThePeersBuffer) {
  EXPECT_TRUE(Make(true).OnAnswer(std::string(kPeerBufferBytes - wire::kFrameHeaderBytes, 'x'), false).ok());
  const absl::Status status = client_.OnAnswer(std::string(kPeerBufferBytes, 'x'), false);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("there is room for 992"));
}

TEST_F(Exchange, AClientWithoutAnEndIsCutOff) {
  for (uint32_t i = 0; i < kAuthenticationMessagesMax; ++i) {
    Say(client_, "more");
    ASSERT_TRUE(Hear(client_, AuthenticationStep::kContinue).ok());
  }
  EXPECT_EQ(client_.OnAnswer("more", false).code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(Exchange, AClientMustBeContentWhenTheServerIs) {
  EXPECT_EQ(client_.OnAnswer("", true).code(), absl::StatusCode::kFailedPrecondition);
  Say(client_, "");
  ASSERT_TRUE(Hear(client_, AuthenticationStep::kAccept).ok());
  EXPECT_EQ(client_.OnAnswer("more", false).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(client_.OnAnswer("more", true).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(client_.OnAnswer("", true).ok());
}

}  // namespace
}  // namespace verbena::protocol
