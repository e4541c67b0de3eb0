// Who may call: what the server's authorizer is asked, what its verdict does to a call, and what a client does whose
// credentials are refused.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "rpc/testing/call_fixture.h"
#include "transport/log.h"

namespace verbena {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr absl::string_view kEcho = "test.Lambda/Echo";

class AccessTest : public testing::CallFixture {
 protected:
  AccessTest() {
    SetLogSink([this](Severity severity, absl::string_view text) {
      if (severity != Severity::kInfo) lines_.emplace_back(text);
    });
    service_.AddCallback("Who",
                         [this](ServerContext* context, const testing::Text&, testing::Text* reply, Responder done) {
                           ++handled_;
                           reply->set_value(context->peer_identity().name);
                           done(absl::OkStatus());
                         });
  }
  ~AccessTest() override { SetLogSink({}); }

  void StartAs(const std::string& name) {
    testing::MemoryConnection::Options options;
    options.peer_identity = std::make_shared<PeerIdentity>(PeerIdentity{"test", name, {}});
    network_.set_connection_options(options);
    Start();
  }
  // Allows "alice" alone, and keeps what it is asked.
  void AllowAlice() {
    access_.authorizer = [this](const PeerIdentity& who, absl::string_view method, const Metadata&) {
      asked_.push_back(absl::StrCat(who.name, " ", method));
      return who.name == "alice" ? absl::OkStatus() : absl::PermissionDeniedError("not for you");
    };
  }

  std::vector<std::string> asked_;
  std::vector<std::string> lines_;
  int handled_ = 0;
};

TEST_F(AccessTest, TheHandlerKnowsWhoCalls) {
  StartAs("alice");
  EXPECT_EQ(Call("test.Lambda/Who")->reply.value(), "alice");
}

TEST_F(AccessTest, WithoutAnAuthenticatorTheCallerIsNobody) {
  bool authenticated = true;
  access_.authorizer = [&](const PeerIdentity& who, absl::string_view, const Metadata&) {
    authenticated = who.authenticated();
    return absl::OkStatus();
  };
  Start();
  EXPECT_EQ(Call("test.Lambda/Who")->reply.value(), "");
  EXPECT_FALSE(authenticated);
}

TEST_F(AccessTest, TheAuthorizerIsAskedOnceForEachCallSmallOrLarge) {
  AllowAlice();
  StartAs("alice");
  EXPECT_EQ(Call(kEcho)->status(), absl::OkStatus());
  EXPECT_EQ(Call(kEcho, std::string(100000, 'x'))->status(), absl::OkStatus());
  EXPECT_THAT(asked_, ElementsAre("alice test.Lambda/Echo", "alice test.Lambda/Echo"));
  EXPECT_THAT(lines_, IsEmpty());
}

TEST_F(AccessTest, ACallThatItRefusesNeverRunsAndIsNotSent) {
  AllowAlice();
  StartAs("mallory");
  ExpectFailed(*Call("test.Lambda/Who"), absl::StatusCode::kPermissionDenied, Certainty::kNotSent, "not for you");
  EXPECT_EQ(handled_, 0);
}

TEST_F(AccessTest, ARefusalIsOneLineThatSaysWhoFromWhereWhatAndWhy) {
  AllowAlice();
  StartAs("mallory");
  Call(kEcho);
  ASSERT_THAT(lines_, SizeIs(1));
  EXPECT_EQ(lines_[0],
            "a call of test.Lambda/Echo by mallory (test) from memory://client:1 was refused: "
            "PERMISSION_DENIED: not for you");
}

TEST_F(AccessTest, AFloodOfRefusalsDoesNotFillTheLog) {
  AllowAlice();
  StartAs("mallory");
  for (int i = 0; i < 500; ++i) Call(kEcho);
  EXPECT_THAT(lines_, SizeIs(transport::AuditLog::kLinesAtOnceMax));
}

TEST_F(AccessTest, ALargeRequestIsRefusedUnfetched) {
  AllowAlice();
  StartAs("mallory");
  network_.latest_server()->HoldFetches();  // A fetch that begins never ends.
  ExpectFailed(*Call(kEcho, std::string(100000, 'x')), absl::StatusCode::kPermissionDenied, Certainty::kNotSent,
               "not for you");
}

TEST_F(AccessTest, TheAuthorizerSeesTheCallsMetadata) {
  access_.authorizer = [](const PeerIdentity&, absl::string_view, const Metadata& metadata) {
    return metadata.Find("tenant") == "blue" ? absl::OkStatus() : absl::UnauthenticatedError("whose call is this?");
  };
  Start();
  ExpectFailed(*Call(kEcho), absl::StatusCode::kUnauthenticated, Certainty::kNotSent, "whose call");
  const auto call = MakeCall("hello");
  ASSERT_TRUE(call->context.AddMetadata("tenant", "blue").ok());
  StartCall(kEcho, *call);
  loop_.RunUntilIdle();
  EXPECT_EQ(call->status(), absl::OkStatus());
}

TEST_F(AccessTest, AMethodThatIsNotThereIsUnimplementedAndNobodyIsAsked) {
  AllowAlice();
  StartAs("mallory");
  ExpectFailed(*Call("test.Lambda/Nothing"), absl::StatusCode::kUnimplemented, Certainty::kNotSent, "no method");
  EXPECT_THAT(asked_, IsEmpty());
}

TEST_F(AccessTest, WhatAnAuthorizerThrowsIsARefusal) {
  access_.authorizer = [](const PeerIdentity&, absl::string_view, const Metadata&) -> absl::Status {
    throw std::runtime_error("no rules");
  };
  Start();
  ExpectFailed(*Call("test.Lambda/Who"), absl::StatusCode::kInternal, Certainty::kNotSent, "no rules");
  EXPECT_EQ(handled_, 0);
}

class RefusedClientTest : public AccessTest {
 protected:
  void Refuse() { network_.set_connect_error(absl::UnauthenticatedError("the identity could not be verified")); }
  void ExpectUnauthenticated(const testing::TestCall& call) {
    ExpectFailed(call, absl::StatusCode::kUnauthenticated, Certainty::kNotSent, "the identity could not be verified");
  }
};

TEST_F(RefusedClientTest, ItsCallsFailAtOnce) {
  Refuse();
  Start();
  ExpectUnauthenticated(*Call(kEcho));
  loop_.Advance(absl::Seconds(1));
  ExpectUnauthenticated(*Call(kEcho));
}

TEST_F(RefusedClientTest, ACallThatWaitsFailsWithTheRefusal) {
  Refuse();
  options_.connect_ahead = false;
  Start();
  ExpectUnauthenticated(*Call(kEcho));
  EXPECT_EQ(network_.connects(), 1u);
}

TEST_F(RefusedClientTest, ItDoesNotReconnectInAHotLoop) {
  Refuse();
  Start();
  for (int i = 0; i < 60; ++i) {
    ExpectUnauthenticated(*Call(kEcho));
    loop_.Advance(absl::Seconds(1));
  }
  EXPECT_LE(network_.connects(), 16u) << "in a minute";
  EXPECT_GE(network_.connects(), 9u) << "in a minute";
  EXPECT_THAT(lines_, SizeIs(1)) << "the same each time";
}

TEST_F(RefusedClientTest, ItIsServedSoonAfterItsCredentialsAreTaken) {
  Refuse();
  Start();
  network_.set_connect_error(absl::OkStatus());
  loop_.Advance(absl::Seconds(7));
  EXPECT_EQ(Call(kEcho)->status(), absl::OkStatus());
}

}  // namespace
}  // namespace verbena
