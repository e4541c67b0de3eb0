// Peers that are nobody, against a server that authenticates: they get no further than the exchange, whatever they
// send. And servers that are nobody, against a client with credentials.

#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "rpc/auth/shared_secret.h"
#include "rpc/channel.h"
#include "rpc/client_context.h"
#include "tests/hostile/attacked_server.h"
#include "tests/hostile/frames.h"
#include "tests/hostile/hostile_server.h"
#include "tests/integration/wait_until.h"

namespace verbena::hostile {
namespace {

using testing::HasSubstr;
using wire::AuthenticationStep;
using wire::FrameType;
using wire::GoodbyeReason;

constexpr char kSecret[] = "what the honest share";

std::shared_ptr<SharedSecret> Keys(const std::string& secret = kSecret) {
  return *SharedSecret::Create({{"k1", secret}});
}

std::string TextOf(const Bytes& bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

class AuthenticatingServer : public AttackedServer {
 protected:
  explicit AuthenticatingServer(const ServerOptions& options = Options()) : AttackedServer(options, Keys()) {}

  std::unique_ptr<HostilePeer> Meet() {
    absl::StatusOr<std::unique_ptr<HostilePeer>> peer =
        HostilePeer::Connect(address(), HostileDevice::kReceives, wire::kFeatureAuthentication);
    EXPECT_TRUE(peer.ok()) << peer.status();
    return peer.ok() ? *std::move(peer) : nullptr;
  }
  // The client's side of an exchange, for what a peer that knows `secret` would say.
  std::unique_ptr<ClientAuthentication> Exchange(const HostilePeer& peer, const std::string& secret = kSecret) {
    keys_.push_back(Keys(secret));
    return *keys_.back()->BeginClient({peer.epoch(), "", std::nullopt});
  }
  // Says this, and hears the server's answer; empty if there is none.
  static std::optional<HostilePeer::Frame> Turn(HostilePeer& peer, absl::string_view message) {
    peer.Send(Authenticate(AuthenticationStep::kContinue, message));
    return peer.Receive(FrameType::kAuthenticate);
  }
  // An exchange that is well up to the server's accept; what the peer said is in `said_`.
  void ProveTo(HostilePeer& peer) {
    const std::unique_ptr<ClientAuthentication> exchange = Exchange(peer);
    said_ = {*exchange->Respond("")};
    const std::optional<HostilePeer::Frame> challenge = Turn(peer, said_[0]);
    ASSERT_TRUE(challenge.has_value());
    said_.push_back(*exchange->Respond(TextOf(challenge->call_header)));
    const std::optional<HostilePeer::Frame> accept = Turn(peer, said_[1]);
    ASSERT_TRUE(accept.has_value());
    EXPECT_EQ(accept->header.aux, static_cast<uint32_t>(AuthenticationStep::kAccept));
  }
  void ExpectRefusedWithoutAWordOfWhy(HostilePeer& peer) {
    ExpectGoodbye(peer, GoodbyeReason::kAuthenticationFailed);
    EXPECT_EQ(peer.goodbye_words(), "the identity could not be verified");
  }

  std::vector<std::string> said_;

 private:
  std::vector<std::shared_ptr<SharedSecret>> keys_;  // Outlive the exchanges.
};

TEST_F(AuthenticatingServer, AClientThatDoesNotOfferItIsRejectedForThat) {
  absl::StatusOr<std::unique_ptr<HostilePeer>> peer = HostilePeer::Open(address());
  ASSERT_TRUE(peer.ok()) << peer.status();
  const absl::StatusOr<HostilePeer::Answer> answer = (*peer)->Offer((*peer)->ValidHello());
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_FALSE(answer->accepted);
  EXPECT_EQ(wire::DecodeRejection(answer->private_data)->reason, wire::RejectReason::kAuthenticationRequired);
}

TEST_F(AuthenticatingServer, WhoIsNobodyHasTheSmallestCredits) {
  const std::unique_ptr<HostilePeer> peer = Meet();
  ASSERT_NE(peer, nullptr);
  EXPECT_EQ(peer->agreement().peers.initial_credits, 2);
}

TEST_F(AuthenticatingServer, WhoKnowsTheSecretIsServed) {
  const std::unique_ptr<HostilePeer> peer = Meet();
  ASSERT_NE(peer, nullptr);
  ProveTo(*peer);
  peer->Send(Authenticate(AuthenticationStep::kAccept, ""));
  peer->Send(EchoRequest(1));
  EXPECT_TRUE(peer->Receive(FrameType::kEager).has_value());
}

TEST_F(AuthenticatingServer, AnyOtherFrameBeforeTheEndIsAProtocolErrorAndNoCallRuns) {
  const uint64_t refused_before = server().counters().calls_refused;
  for (const Bytes& frame : {EchoRequest(1), Announcement(1, 0, {{4096, 4096, 7}}), Control(FrameType::kPing),
                             Control(FrameType::kGrant), Control(FrameType::kDrain), Control(FrameType::kReclaim)}) {
    const std::unique_ptr<HostilePeer> peer = Meet();
    ASSERT_NE(peer, nullptr);
    peer->Send(frame);
    ExpectProtocolError(*peer);
    EXPECT_FALSE(peer->Receive(FrameType::kEager).has_value()) << "a call was answered";
  }
  EXPECT_EQ(server().counters().calls_refused, refused_before) << "rpc saw a call";
}

TEST_F(AuthenticatingServer, ACallBehindTheServersAcceptIsStillTooEarly) {
  const std::unique_ptr<HostilePeer> peer = Meet();
  ASSERT_NE(peer, nullptr);
  ProveTo(*peer);
  peer->Send(EchoRequest(1));
  ExpectProtocolError(*peer);
}

TEST_F(AuthenticatingServer, AnAcceptInsteadOfAProofIsAProtocolError) {
  const std::unique_ptr<HostilePeer> peer = Meet();
  ASSERT_NE(peer, nullptr);
  peer->Send(Authenticate(AuthenticationStep::kAccept, ""));
  ExpectProtocolError(*peer);
}

TEST_F(AuthenticatingServer, AWrongProofIsRefusedWithoutAWordOfWhy) {
  const std::unique_ptr<HostilePeer> peer = Meet();
  ASSERT_NE(peer, nullptr);
  const std::unique_ptr<ClientAuthentication> exchange = Exchange(*peer, "a guess of some length");
  const std::optional<HostilePeer::Frame> challenge = Turn(*peer, *exchange->Respond(""));
  ASSERT_TRUE(challenge.has_value());
  EXPECT_FALSE(Turn(*peer, *exchange->Respond(TextOf(challenge->call_header))).has_value());
  ExpectRefusedWithoutAWordOfWhy(*peer);
}

// The epoch is the client's to choose, and so the same in both.
TEST_F(AuthenticatingServer, AnExchangeOfAnotherConnectionIsRefusedWithoutAWordOfWhy) {
  const std::unique_ptr<HostilePeer> first = Meet();
  ASSERT_NE(first, nullptr);
  ProveTo(*first);
  const std::unique_ptr<HostilePeer> second = Meet();
  ASSERT_NE(second, nullptr);
  ASSERT_EQ(first->epoch(), second->epoch());
  ASSERT_TRUE(Turn(*second, said_[0]).has_value());
  EXPECT_FALSE(Turn(*second, said_[1]).has_value());
  ExpectRefusedWithoutAWordOfWhy(*second);
}

TEST_F(AuthenticatingServer, MessagesCutAnywhereAreRefusedWithoutAWordOfWhy) {
  const std::string whole = *Keys()->BeginClient({1, "", std::nullopt}).value()->Respond("");
  for (const size_t length : {size_t{0}, size_t{1}, size_t{32}, size_t{33}}) {
    const std::unique_ptr<HostilePeer> peer = Meet();
    ASSERT_NE(peer, nullptr);
    peer->Send(Authenticate(AuthenticationStep::kContinue, whole.substr(0, length)));
    ExpectRefusedWithoutAWordOfWhy(*peer);
  }
  const std::unique_ptr<HostilePeer> peer = Meet();
  ASSERT_NE(peer, nullptr);
  ASSERT_TRUE(Turn(*peer, whole).has_value());
  peer->Send(Authenticate(AuthenticationStep::kContinue, std::string(31, 'p')));
  ExpectRefusedWithoutAWordOfWhy(*peer);
}

TEST_F(AuthenticatingServer, AMessageThatIsTooLongIsAProtocolError) {
  const std::unique_ptr<HostilePeer> peer = Meet();
  ASSERT_NE(peer, nullptr);
  peer->Send(Authenticate(AuthenticationStep::kContinue, std::string(4097, 'x')));
  ExpectProtocolError(*peer);
}

TEST_F(AuthenticatingServer, AFrameBeyondTheSmallestCreditsCutsTheConnection) {
  const std::unique_ptr<HostilePeer> peer = Meet();
  ASSERT_NE(peer, nullptr);
  for (int i = 0; i < 40; ++i) peer->Send(Authenticate(AuthenticationStep::kContinue, "me, me, me"));
  ExpectEnded(*peer);
}

TEST_F(AuthenticatingServer, AStepThatIsNoneIsAProtocolError) {
  const std::unique_ptr<HostilePeer> peer = Meet();
  ASSERT_NE(peer, nullptr);
  peer->Send(Authenticate(static_cast<AuthenticationStep>(2), ""));
  ExpectProtocolError(*peer);
}

class ImpatientServer : public AuthenticatingServer {
 protected:
  ImpatientServer() : AuthenticatingServer(Impatient()) {}

 private:
  static ServerOptions Impatient() {
    ServerOptions options = Options();
    options.transport.handshake_timeout = absl::Seconds(2);
    options.transport.unauthenticated_connections_max = 4;
    return options;
  }
};

TEST_F(ImpatientServer, SilenceEndsWithTheHandshakesTime) {
  const std::unique_ptr<HostilePeer> peer = Meet();
  ASSERT_NE(peer, nullptr);
  ExpectGoodbye(*peer, GoodbyeReason::kShutdown);
  EXPECT_EQ(peer->goodbye_words(), "the authentication was not finished in time");
}

TEST_F(ImpatientServer, SilenceInTheMiddleOfTheExchangeEndsAsWell) {
  const std::unique_ptr<HostilePeer> peer = Meet();
  ASSERT_NE(peer, nullptr);
  ProveTo(*peer);
  ExpectGoodbye(*peer, GoodbyeReason::kShutdown);
}

TEST_F(ImpatientServer, MoreThanItsLimitAreRejectedUntilTheSilentOnesHaveGone) {
  std::vector<std::unique_ptr<HostilePeer>> silent;
  for (int i = 0; i < 4; ++i) {
    silent.push_back(Meet());
    ASSERT_NE(silent.back(), nullptr);
  }
  const absl::Status rejected =
      HostilePeer::Connect(address(), HostileDevice::kReceives, wire::kFeatureAuthentication).status();
  EXPECT_EQ(rejected.code(), absl::StatusCode::kResourceExhausted) << rejected;
  honest().ExpectServed();
  for (const std::unique_ptr<HostilePeer>& peer : silent) EXPECT_TRUE(peer->WaitForEnd());
  EXPECT_NE(Meet(), nullptr);
}

// Goes on for ever, as far as it is concerned.
class Endless : public Authenticator {
 public:
  absl::StatusOr<std::unique_ptr<ServerAuthentication>> BeginServer(const UnauthenticatedPeer&) override {
    class Talk : public ServerAuthentication {
      absl::StatusOr<Answer> Judge(absl::string_view) override { return Answer{"and?", std::nullopt}; }
    };
    return std::make_unique<Talk>();
  }
};

TEST(EndlessAuthentication, IsAProtocolErrorAfterEightMessages) {
  Server::Builder builder;
  builder.AddListeningAddress("soft://127.0.0.1:0").SetAuthenticator(std::make_shared<Endless>());
  absl::StatusOr<std::unique_ptr<Server>> server = builder.Build();
  ASSERT_TRUE(server.ok()) << server.status();
  const absl::StatusOr<std::unique_ptr<HostilePeer>> peer =
      HostilePeer::Connect((*server)->addresses().front(), HostileDevice::kReceives, wire::kFeatureAuthentication);
  ASSERT_TRUE(peer.ok()) << peer.status();
  for (int i = 0; i < 8; ++i) {
    (*peer)->Send(Authenticate(AuthenticationStep::kContinue, "more"));
    ASSERT_TRUE((*peer)->Receive(FrameType::kAuthenticate).has_value()) << i;
  }
  (*peer)->Send(Authenticate(AuthenticationStep::kContinue, "more"));
  EXPECT_TRUE((*peer)->WaitForEnd());
  EXPECT_EQ((*peer)->goodbye(), GoodbyeReason::kProtocolError);
}

// A client with credentials, at a server that has none of them.
class ImpostorServer : public testing::Test {
 protected:
  ImpostorServer() : impostor_(*HostileServer::Listen()) {
    ChannelOptions options;
    options.credentials = Keys();
    channel_ = *Channel::Create(impostor_->address(), options);
  }
  std::future<absl::Status> Call() {
    return std::async(std::launch::async, [this] {
      probe::Probe::Stub stub(channel_);
      ClientContext context;
      context.set_timeout(HostilePeer::kPatience);
      probe::EchoRequest request;
      probe::EchoReply reply;
      return stub.Echo(&context, request, &reply);
    });
  }
  static void ExpectUnauthenticated(const absl::Status& status, const std::string& words) {
    EXPECT_EQ(status.code(), absl::StatusCode::kUnauthenticated) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(words));
  }

  std::unique_ptr<HostileServer> impostor_;
  std::shared_ptr<Channel> channel_;
};

TEST_F(ImpostorServer, ThatDoesNotChooseAuthenticationIsRefused) {
  std::future<absl::Status> call = Call();
  const auto peer = impostor_->Accept([](wire::Hello* hello) { hello->features = 0; });
  ASSERT_TRUE(peer.ok()) << peer.status();
  EXPECT_TRUE((*peer)->WaitForEnd());
  ExpectUnauthenticated(call.get(), "does not authenticate anybody");
}

TEST_F(ImpostorServer, ThatAcceptsWithoutAProofOfItsOwnSeesNoCall) {
  std::future<absl::Status> call = Call();
  const auto peer = impostor_->Accept([](wire::Hello* hello) { hello->features = wire::kFeatureAuthentication; });
  ASSERT_TRUE(peer.ok()) << peer.status();
  ASSERT_TRUE((*peer)->Receive(FrameType::kAuthenticate).has_value());
  (*peer)->Send(Authenticate(AuthenticationStep::kContinue, std::string(32, 'n')));
  ASSERT_TRUE((*peer)->Receive(FrameType::kAuthenticate).has_value());
  (*peer)->Send(Authenticate(AuthenticationStep::kAccept, std::string(32, 'p')));
  EXPECT_TRUE((*peer)->WaitForEnd());
  EXPECT_EQ((*peer)->goodbye(), GoodbyeReason::kAuthenticationFailed);
  EXPECT_FALSE((*peer)->Receive(FrameType::kEager).has_value()) << "the call went to an impostor";
  ExpectUnauthenticated(call.get(), "does not prove that it knows key");
}

}  // namespace
}  // namespace verbena::hostile
