// Who may call, on a device: authenticators of both sides, in one process and between two.

#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "rpc/auth/peer_credentials.h"
#include "rpc/auth/shared_secret.h"
#include "rpc/certainty.h"
#include "rpc/channel.h"
#include "rpc/client_context.h"
#include "rpc/server.h"
#include "rpc/server_context.h"
#include "tests/integration/child_process.h"
#include "tests/integration/device_under_test.h"
#include "tests/integration/probe_service.h"
#include "tests/integration/wait_until.h"
#include "transport/log.h"

namespace verbena::probe {
namespace {

using ::testing::HasSubstr;

constexpr char kSecret[] = "a secret of some length";
constexpr char kOtherSecret[] = "another one of some length";
constexpr absl::Duration kPatience = absl::Seconds(20);

std::shared_ptr<SharedSecret> Keys(std::vector<SharedSecret::Key> keys) {
  absl::StatusOr<std::shared_ptr<SharedSecret>> made = SharedSecret::Create(std::move(keys));
  EXPECT_TRUE(made.ok()) << made.status();
  return *made;
}

// Remembers who called last.
class WatchedService : public ProbeService {
 public:
  absl::Status Echo(ServerContext* context, const EchoRequest* request, EchoReply* reply) override {
    {
      const std::lock_guard lock(mu_);
      caller_ = context->peer_identity();
    }
    return ProbeService::Echo(context, request, reply);
  }
  PeerIdentity caller() {
    const std::lock_guard lock(mu_);
    return caller_;
  }

 private:
  std::mutex mu_;
  PeerIdentity caller_;
};

class Authentication : public testing::Test {
 protected:
  Authentication() {
    SetLogSink([this](Severity, absl::string_view text) {
      const std::lock_guard lock(mu_);
      if (absl::StrContains(text, "was refused")) refusals_.emplace_back(text);
    });
  }
  ~Authentication() override {
    channels_.clear();
    server_.reset();
    SetLogSink(nullptr);
  }

  void Serve(std::shared_ptr<Authenticator> authenticator, Authorizer authorizer = nullptr,
             const ServerOptions& options = {}, int addresses = 1) {
    Server::Builder builder;
    for (int i = 0; i < addresses; ++i) builder.AddListeningAddress(integration::AddressUnderTest());
    builder.RegisterService(&service_).SetOptions(options);
    builder.SetAuthenticator(std::move(authenticator)).SetAuthorizer(std::move(authorizer));
    absl::StatusOr<std::unique_ptr<Server>> server = builder.Build();
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }
  std::shared_ptr<Channel> Open(std::shared_ptr<Authenticator> credentials, int address = 0) {
    ChannelOptions options;
    options.credentials = std::move(credentials);
    options.connect_timeout = kPatience;
    channels_.push_back(*Channel::Create(server_->addresses()[address], options));
    return channels_.back();
  }
  static absl::Status Echo(const std::shared_ptr<Channel>& channel, size_t bytes = 10) {
    Probe::Stub stub(channel);
    ClientContext context;
    context.set_timeout(kPatience);
    EchoRequest request;
    EchoReply reply;
    request.set_body(std::string(bytes, 'e'));
    absl::Status status = stub.Echo(&context, request, &reply);
    EXPECT_EQ(reply.body() == request.body(), status.ok());
    return status;
  }
  // What a client process says of its one call; its credentials are the arguments.
  std::string CallFromAnotherProcess(std::vector<std::string> credentials) {
    std::vector<std::string> arguments = {ProgramPath("identified_client"), server_->addresses().front()};
    arguments.insert(arguments.end(), credentials.begin(), credentials.end());
    return ChildProcess(arguments).ReadLine();
  }
  static void ExpectRefused(const absl::Status& status, const std::string& words) {
    EXPECT_EQ(status.code(), absl::StatusCode::kUnauthenticated) << status;
    EXPECT_EQ(GetCertainty(status), Certainty::kNotSent);
    EXPECT_THAT(std::string(status.message()), HasSubstr(words));
  }
  void ExpectRefusalLogged(const std::string& words) {
    // The server says so when the connection has come to its end, which the client may see first.
    const auto first = [this] {
      const std::lock_guard lock(mu_);
      return refusals_.empty() ? "" : refusals_.front();
    };
    EXPECT_TRUE(WaitUntil([&] { return !first().empty(); }, kPatience));
    EXPECT_THAT(first(), HasSubstr(words));
  }

  WatchedService service_;
  std::unique_ptr<Server> server_;
  std::vector<std::shared_ptr<Channel>> channels_;
  std::mutex mu_;
  std::vector<std::string> refusals_;
};

TEST_F(Authentication, WhoSharesASecretIsServedUnderTheNameOfItsKey) {
  Serve(Keys({{"k1", kSecret}, {"k2", kOtherSecret}}));
  const auto channel = Open(Keys({{"k2", kOtherSecret}}));
  EXPECT_EQ(Echo(channel), absl::OkStatus());
  EXPECT_EQ(service_.caller().mechanism, "shared-secret");
  EXPECT_EQ(service_.caller().name, "k2");
  EXPECT_EQ(Echo(channel, 5 << 20), absl::OkStatus());
}

TEST_F(Authentication, AnotherProcessIsServedIfItKnowsTheSecretAndOnlyThen) {
  Serve(Keys({{"k1", kSecret}}));
  EXPECT_EQ(CallFromAnotherProcess({"shared-secret", "k1", kSecret}), "OK: ");
  EXPECT_THAT(CallFromAnotherProcess({"shared-secret", "k1", kOtherSecret}), testing::StartsWith("UNAUTHENTICATED: "));
}

TEST_F(Authentication, AWrongSecretFailsTheCallAtOnceInWordsThatSayNothingOfTheProof) {
  Serve(Keys({{"k1", kSecret}}));
  const auto channel = Open(Keys({{"k1", kOtherSecret}}));
  const absl::Time start = absl::Now();
  ExpectRefused(Echo(channel), "authentication failed: the identity could not be verified");
  EXPECT_LT(absl::Now() - start, absl::Seconds(5));
  ExpectRefusalLogged("UNAUTHENTICATED: a wrong proof of key \\\"k1\\\"");
  EXPECT_EQ(server_->counters().connections, 0u);
}

TEST_F(Authentication, AnUnknownKeyIsRefusedInTheSameWords) {
  Serve(Keys({{"k1", kSecret}}));
  ExpectRefused(Echo(Open(Keys({{"nobody", kSecret}}))), "authentication failed: the identity could not be verified");
  ExpectRefusalLogged("there is no key \\\"nobody\\\"");
}

TEST_F(Authentication, AClientWithoutCredentialsIsRejectedInWords) {
  Serve(Keys({{"k1", kSecret}}));
  ExpectRefused(Echo(Open(nullptr)), "the server wants authentication, and the client has no credentials");
}

TEST_F(Authentication, AClientWithCredentialsRefusesAServerThatDoesNotAuthenticate) {
  Serve(nullptr);
  ExpectRefused(Echo(Open(Keys({{"k1", kSecret}}))), "does not authenticate anybody");
}

TEST_F(Authentication, AClientWithCredentialsOfAnotherKindIsRefused) {
  Serve(Keys({{"k1", kSecret}}));
  EXPECT_EQ(Echo(Open(PeerCredentials::OfThisUser())).code(), absl::StatusCode::kUnauthenticated);
}

TEST_F(Authentication, TheAuthorizerGoesByTheIdentity) {
  Serve(Keys({{"reader", kSecret}, {"writer", kOtherSecret}}),
        [](const PeerIdentity& who, absl::string_view, const Metadata&) {
          return who.name == "writer" ? absl::OkStatus() : absl::PermissionDeniedError("readers may not");
        });
  EXPECT_EQ(Echo(Open(Keys({{"writer", kOtherSecret}}))), absl::OkStatus());
  for (const size_t bytes : {size_t{10}, size_t{5 << 20}}) {
    const absl::Status status = Echo(Open(Keys({{"reader", kSecret}})), bytes);
    EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied) << status;
    EXPECT_EQ(GetCertainty(status), Certainty::kNotSent);
  }
  ExpectRefusalLogged("a call of verbena.probe.Probe/Echo by reader (shared-secret) from ");
}

// Where the kernel vouches for the peer the process is known; everywhere else both sides refuse.
TEST_F(Authentication, TheKernelsWordNamesTheProcessOrThereIsNone) {
  Serve(PeerCredentials::OfThisUser());
  const std::string said = CallFromAnotherProcess({"peer-credentials"});
  if (integration::DeviceKnowsProcesses()) {
    EXPECT_EQ(said, "OK: ");
    EXPECT_EQ(service_.caller().name, absl::StrCat("uid:", geteuid()));
    EXPECT_NE(service_.caller().attributes["pid"], absl::StrCat(getpid()));
  } else {
    EXPECT_THAT(said, testing::AllOf(testing::StartsWith("UNAUTHENTICATED: "), HasSubstr("nobody vouches for")));
  }
}

// One's own: takes its time for whoever says "slow", until it is told to go on.
class SlowDoor : public Authenticator {
 public:
  explicit SlowDoor(std::string word) : word_(std::move(word)) {}
  absl::StatusOr<std::unique_ptr<ClientAuthentication>> BeginClient(const UnauthenticatedPeer&) override {
    return std::make_unique<Guest>(word_);
  }
  absl::StatusOr<std::unique_ptr<ServerAuthentication>> BeginServer(const UnauthenticatedPeer&) override {
    return std::make_unique<Door>(this);
  }
  void GoOn() {
    const std::lock_guard lock(mu_);
    goes_on_ = true;
    changed_.notify_all();
  }
  void AwaitGuest() {
    std::unique_lock lock(mu_);
    changed_.wait(lock, [this] { return waiting_ > 0; });
  }

 private:
  class Guest : public ClientAuthentication {
   public:
    explicit Guest(std::string word) : word_(std::move(word)) {}
    absl::StatusOr<std::string> Respond(absl::string_view) override { return word_; }
    absl::StatusOr<PeerIdentity> Finish(absl::string_view) override { return PeerIdentity{"door", "house", {}}; }

   private:
    const std::string word_;
  };
  class Door : public ServerAuthentication {
   public:
    explicit Door(SlowDoor* owner) : owner_(*owner) {}
    absl::StatusOr<Answer> Judge(absl::string_view message) override {
      if (message == "slow") owner_.Wait();
      return Answer{"", PeerIdentity{"door", std::string(message), {}}};
    }

   private:
    SlowDoor& owner_;
  };
  void Wait() {
    std::unique_lock lock(mu_);
    ++waiting_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return goes_on_; });
  }

  const std::string word_;
  std::mutex mu_;
  std::condition_variable changed_;
  int waiting_ = 0;
  bool goes_on_ = false;
};

TEST_F(Authentication, AnAuthenticatorOfOnesOwnThatTakesItsTimeKeepsNobodyElseWaiting) {
  const auto door = std::make_shared<SlowDoor>("");
  Serve(door);
  const auto slow = Open(std::make_shared<SlowDoor>("slow"));
  std::future<absl::Status> call = std::async(std::launch::async, [&] { return Echo(slow); });
  door->AwaitGuest();
  EXPECT_EQ(Echo(Open(std::make_shared<SlowDoor>("quick"))), absl::OkStatus());
  EXPECT_EQ(service_.caller().name, "quick");
  door->GoOn();
  EXPECT_EQ(call.get(), absl::OkStatus());
  EXPECT_EQ(service_.caller().name, "slow");
}

TEST_F(Authentication, OneMoreThanMayBeUnauthenticatedAtOnceIsRejectedAndServedLater) {
  const auto door = std::make_shared<SlowDoor>("");
  ServerOptions options;
  options.transport.unauthenticated_connections_max = 1;
  Serve(door, nullptr, options);
  const auto slow = Open(std::make_shared<SlowDoor>("slow"));
  std::future<absl::Status> call = std::async(std::launch::async, [&] { return Echo(slow); });
  door->AwaitGuest();
  const auto quick = Open(std::make_shared<SlowDoor>("quick"));
  EXPECT_TRUE(WaitUntil([&] { return absl::StrContains(quick->DescribeState(), "too many connections"); }, kPatience))
      << quick->DescribeState();
  door->GoOn();
  EXPECT_EQ(call.get(), absl::OkStatus());
  EXPECT_EQ(Echo(quick), absl::OkStatus());
}

// One address too many for the server's threads and for the queue in front of them.
TEST_F(Authentication, WhoFindsAllThreadsOfTheAuthenticatorBusyIsServedLater) {
  constexpr int kGuests = 6;
  const auto door = std::make_shared<SlowDoor>("");
  ServerOptions options;
  options.transport.unauthenticated_connections_max = 1;
  Serve(door, nullptr, options, kGuests);
  std::vector<std::future<absl::Status>> calls;
  for (int i = 0; i < kGuests; ++i) {
    calls.push_back(
        std::async(std::launch::async, [guest = Open(std::make_shared<SlowDoor>("slow"), i)] { return Echo(guest); }));
  }
  const auto one_too_many = [this] {
    return std::any_of(channels_.begin(), channels_.end(), [](const auto& channel) {
      return absl::StrContains(channel->DescribeState(), "too many authentications wait");
    });
  };
  EXPECT_TRUE(WaitUntil(one_too_many, kPatience));
  door->GoOn();
  for (std::future<absl::Status>& call : calls) EXPECT_EQ(call.get(), absl::OkStatus());
}

TEST_F(Authentication, ALimitThatMakesNoSenseIsRefusedBeforeAnythingIsMadeOfIt) {
  for (const uint32_t limit : {uint32_t{0}, ~uint32_t{0}}) {
    ServerOptions options;
    options.transport.unauthenticated_connections_max = limit;
    Server::Builder builder;
    builder.AddListeningAddress(integration::AddressUnderTest()).RegisterService(&service_).SetOptions(options);
    const absl::Status status = builder.SetAuthenticator(std::make_shared<SlowDoor>("slow")).Build().status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("unauthenticated_connections_max"));
  }
}

TEST_F(Authentication, AServerGoesWhileAnAuthenticatorTakesItsTime) {
  const auto door = std::make_shared<SlowDoor>("");
  Serve(door);
  const auto slow = Open(std::make_shared<SlowDoor>("slow"));
  door->AwaitGuest();
  std::future<void> gone = std::async(std::launch::async, [&] { server_.reset(); });
  door->GoOn();
  gone.get();
  EXPECT_TRUE(WaitUntil([&] { return !absl::StrContains(slow->DescribeState(), " connected to"); }, kPatience))
      << slow->DescribeState();
}

}  // namespace
}  // namespace verbena::probe
