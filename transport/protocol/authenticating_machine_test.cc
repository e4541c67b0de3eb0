// The connection machine while it authenticates: nothing but the exchange happens, and on the smallest credits.

#include <string>

#include "gmock/gmock.h"
#include "transport/protocol/machine_fixture.h"

namespace verbena::protocol {
namespace {

using testing::HasSubstr;
using wire::AuthenticationStep;
using wire::FrameType;
using wire::GoodbyeReason;

class Authenticating : public MachineFixture {
 protected:
  Authenticating() {
    features_ = wire::kFeatureAuthentication;
    initial_grants_ = kCreditsPerConnectionMin;
  }
  void Begin(bool initiator) {
    initiator_ = initiator;
    Restart(/*peer_credits=*/kCreditsPerConnectionMin);
  }
  void Hear(AuthenticationStep step, const std::string& text = "", uint16_t grant = 0) {
    wire::FrameHeader header = HeaderOf(FrameType::kAuthenticate, grant);
    header.aux = static_cast<uint32_t>(step);
    header.call_header_bytes = static_cast<uint16_t>(text.size());
    Receive(FrameOf(header, {}, text));
  }
  void Answer(const std::string& text, bool accept = false) {
    ASSERT_TRUE(machine_->OnAuthenticationAnswer(text, accept, now_).ok());
    CompleteSends();
  }
  // The server's side of an exchange that succeeds, but for the client's last word.
  void AcceptClient() {
    Begin(/*initiator=*/false);
    Hear(AuthenticationStep::kContinue, "proof");
    Answer("proof", /*accept=*/true);
  }
  void ExpectGoodbye(GoodbyeReason reason) {
    const std::optional<wire::FrameHeader> goodbye = FindControl(FrameType::kGoodbye);
    ASSERT_TRUE(goodbye.has_value());
    EXPECT_EQ(static_cast<GoodbyeReason>(goodbye->aux), reason);
  }
};

TEST_F(Authenticating, AClientAsksItsAuthenticatorFirst) {
  Begin(/*initiator=*/true);
  const std::optional<AskAuthenticator> ask = Find<AskAuthenticator>();
  ASSERT_TRUE(ask.has_value());
  EXPECT_EQ(ask->message, "");
  EXPECT_FALSE(ask->last);
  Answer("nonce");
  const std::optional<PostAuthenticate> post = Find<PostAuthenticate>();
  ASSERT_TRUE(post.has_value());
  EXPECT_EQ(post->header.type, FrameType::kAuthenticate);
}

TEST_F(Authenticating, AClientIsOpenWithItsLastWord) {
  Begin(/*initiator=*/true);
  Answer("proof");
  EXPECT_FALSE(Find<Authenticated>().has_value());
  Hear(AuthenticationStep::kAccept, "proof", /*grant=*/1);
  EXPECT_TRUE(Find<AskAuthenticator>().has_value());
  const std::optional<AskAuthenticator> ask = Find<AskAuthenticator>();
  ASSERT_TRUE(ask.has_value());
  EXPECT_TRUE(ask->last);
  Answer("", /*accept=*/true);
  EXPECT_TRUE(Find<Authenticated>().has_value());
  SendEager();
  EXPECT_TRUE(Find<PostEager>().has_value());
}

TEST_F(Authenticating, AServerIsOpenWithTheClientsLastWordAndNotBefore) {
  AcceptClient();
  EXPECT_FALSE(Find<Authenticated>().has_value());
  Hear(AuthenticationStep::kAccept);
  EXPECT_TRUE(Find<Authenticated>().has_value());
}

TEST_F(Authenticating, AnyOtherFrameIsAProtocolErrorAndDeliversNothing) {
  for (const FrameType type : {FrameType::kPing, FrameType::kGrant, FrameType::kEager, FrameType::kDrain,
                               FrameType::kReclaim, FrameType::kReturn, FrameType::kFinish, FrameType::kWithdraw}) {
    Begin(/*initiator=*/false);
    Receive(type);
    ExpectGoodbye(GoodbyeReason::kProtocolError);
    EXPECT_EQ(delivered_, 0u) << ToString(type);
  }
  Begin(/*initiator=*/false);
  Receive(AnnouncementOf(0, 1, 100));
  ExpectGoodbye(GoodbyeReason::kProtocolError);
  EXPECT_FALSE(Find<AskVerdict>().has_value());
}

TEST_F(Authenticating, AnEagerFrameBehindTheServersAcceptIsAProtocolErrorToo) {
  AcceptClient();
  Receive(FrameType::kEager);
  ExpectGoodbye(GoodbyeReason::kProtocolError);
}

TEST_F(Authenticating, AMessageOfTheExchangeAfterItsEndIsAProtocolError) {
  AcceptClient();
  Hear(AuthenticationStep::kAccept);
  Hear(AuthenticationStep::kContinue);
  ExpectGoodbye(GoodbyeReason::kProtocolError);
}

TEST_F(Authenticating, WithoutTheFeatureAMessageOfTheExchangeIsAProtocolError) {
  features_ = 0;
  Begin(/*initiator=*/false);
  Hear(AuthenticationStep::kContinue);
  ExpectGoodbye(GoodbyeReason::kProtocolError);
}

TEST_F(Authenticating, ThePeerNeverHoldsMoreThanTheSmallestCredits) {
  Begin(/*initiator=*/false);
  for (uint32_t i = 0; i < kAuthenticationMessagesMax; ++i) {
    Hear(AuthenticationStep::kContinue, "", /*grant=*/1);
    Answer("more");
    EXPECT_LE(machine_->credits_granted(), kCreditsPerConnectionMin);
    EXPECT_GE(machine_->credits_granted(), 1u) << "the client has the turn and cannot take it";
  }
}

TEST_F(Authenticating, ARefusalSaysNothingOfItsReason) {
  Begin(/*initiator=*/false);
  Hear(AuthenticationStep::kContinue, "forged");
  machine_->OnAuthenticationRefused(now_);
  const std::optional<PostControl> post = Find<PostControl>();
  ASSERT_TRUE(post.has_value());
  EXPECT_EQ(post->header.aux, static_cast<uint32_t>(GoodbyeReason::kAuthenticationFailed));
  EXPECT_EQ(post->words, "the identity could not be verified");
}

// A client takes a refusal as the last word on its credentials, which nobody has looked at here.
TEST_F(Authenticating, ThatNobodyCanBeAskedIsNoRefusal) {
  Begin(/*initiator=*/false);
  Hear(AuthenticationStep::kContinue, "proof");
  machine_->OnAuthenticatorBusy(now_);
  const std::optional<PostControl> post = Find<PostControl>();
  ASSERT_TRUE(post.has_value());
  EXPECT_EQ(post->header.aux, static_cast<uint32_t>(GoodbyeReason::kShutdown));
  EXPECT_EQ(post->words, "too many authentications wait for a thread, or this end shuts down");
  CompleteSends();
  EXPECT_EQ(EndOf<Disconnect>().code(), absl::StatusCode::kResourceExhausted);
}

TEST_F(Authenticating, ARefusalOfThePeersIsUnauthenticatedInItsWords) {
  Begin(/*initiator=*/true);
  Answer("forged");
  wire::FrameHeader goodbye = HeaderOf(FrameType::kGoodbye);
  goodbye.aux = static_cast<uint32_t>(GoodbyeReason::kAuthenticationFailed);
  goodbye.call_header_bytes = 2;
  Receive(FrameOf(goodbye, {}, "no"));
  const absl::Status end = EndOf<Disconnect>();
  EXPECT_EQ(end.code(), absl::StatusCode::kUnauthenticated);
  EXPECT_THAT(std::string(end.message()), HasSubstr("authentication failed: no"));
}

TEST_F(Authenticating, SilenceEndsAtTheDeadline) {
  config_.authentication_timeout = absl::Seconds(3);
  Begin(/*initiator=*/false);
  const absl::Time deadline = now_ + absl::Seconds(3);
  EXPECT_EQ(machine_->NextDeadline(), deadline);
  now_ = deadline;
  machine_->OnDeadline(now_);
  ExpectGoodbye(GoodbyeReason::kShutdown);
  machine_->OnDisconnected(absl::OkStatus());
  EXPECT_EQ(EndOf<Closed>().code(), absl::StatusCode::kDeadlineExceeded);
}

TEST_F(Authenticating, ALastWordThatLeavesLateBringsTheOpenConnectionsDeadline) {
  Begin(/*initiator=*/true);
  Answer("proof");
  Hear(AuthenticationStep::kAccept, "proof", /*grant=*/1);
  machine_->HoldMessages(true);
  Answer("", /*accept=*/true);
  EXPECT_FALSE(Find<Authenticated>().has_value());
  machine_->TakeDeadlineNews();
  const absl::Time before = machine_->NextDeadline();
  machine_->HoldMessages(false);
  EXPECT_TRUE(Find<Authenticated>().has_value());
  EXPECT_LT(machine_->NextDeadline(), before);
  EXPECT_TRUE(machine_->TakeDeadlineNews());
}

TEST_F(Authenticating, AnAnswerThatComesAfterTheEndIsIgnored) {
  Begin(/*initiator=*/false);
  Hear(AuthenticationStep::kContinue);
  machine_->OnDisconnected(absl::UnavailableError("gone"));
  EXPECT_TRUE(machine_->OnAuthenticationAnswer("late", true, now_).ok());
  EXPECT_FALSE(Find<PostAuthenticate>().has_value());
  EXPECT_FALSE(Find<Authenticated>().has_value());
}

TEST_F(Authenticating, MessagesAreHeldWithThoseOfTheLayerAbove) {
  Begin(/*initiator=*/false);
  Hear(AuthenticationStep::kContinue);
  machine_->HoldMessages(true);
  Answer("held");
  EXPECT_FALSE(Find<PostAuthenticate>().has_value());
  EXPECT_FALSE(machine_->idle());
  machine_->HoldMessages(false);
  EXPECT_TRUE(Find<PostAuthenticate>().has_value());
}

}  // namespace
}  // namespace verbena::protocol
