// Past a limit, a call fails at once and in words, and everything else goes on: message size, calls in flight,
// connections, memory.

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "rpc/certainty.h"
#include "rpc/channel.h"
#include "rpc/client_context.h"
#include "rpc/payload.h"
#include "rpc/server.h"
#include "rpc/server_context.h"
#include "tests/integration/device_under_test.h"
#include "tests/integration/probe_service.h"
#include "tests/integration/wait_until.h"

namespace verbena::probe {
namespace {

using ::testing::HasSubstr;

constexpr absl::Duration kPatience = absl::Seconds(20);
constexpr size_t kSmallLimit = 200000;
constexpr size_t kTooMany = 300000;

class LimitsTest : public testing::Test {
 protected:
  void Serve(const ServerOptions& options = {}, Service* service = nullptr) {
    Server::Builder builder;
    ServerOptions checked = options;
    checked.transport.rnr_retry_count = 0;
    builder.AddListeningAddress(integration::AddressUnderTest()).SetOptions(checked);
    builder.RegisterService(service == nullptr ? &service_ : service);
    absl::StatusOr<std::unique_ptr<Server>> server = builder.Build();
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }

  std::shared_ptr<Channel> Open(ChannelOptions options = {}) {
    options.transport.rnr_retry_count = 0;
    absl::StatusOr<std::shared_ptr<Channel>> channel = Channel::Create(server_->addresses().front(), options);
    EXPECT_TRUE(channel.ok()) << channel.status();
    return *channel;
  }

  // An echo of so many bytes, none of them in the body.
  static absl::Status Echo(const std::shared_ptr<Channel>& channel, size_t bytes) {
    Probe::Stub stub(channel);
    ClientContext context;
    context.set_timeout(kPatience);
    context.set_attachment(absl::Cord(std::string(bytes, 'e')));
    EchoRequest request;
    EchoReply reply;
    const absl::Status status = stub.Echo(&context, request, &reply);
    EXPECT_TRUE(!status.ok() || context.attachment().size() == bytes);
    return status;
  }
  static absl::Status Fetch(const std::shared_ptr<Channel>& channel, uint64_t bytes) {
    Probe::Stub stub(channel);
    ClientContext context;
    context.set_timeout(kPatience);
    FetchRequest request;
    FetchReply reply;
    request.set_bytes(bytes);
    const absl::Status status = stub.Fetch(&context, request, &reply);
    EXPECT_TRUE(!status.ok() || context.attachment().size() == bytes);
    return status;
  }

  static void ExpectExhausted(const absl::Status& status, absl::string_view number, absl::string_view other) {
    EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(std::string(number)));
    EXPECT_THAT(std::string(status.message()), HasSubstr(std::string(other)));
  }

  bool WaitForCallsInFlight(uint64_t count) {
    return WaitUntil([&] { return server_->counters().calls_in_flight == count; }, kPatience);
  }

  ProbeService service_;
  std::unique_ptr<Server> server_;
};

TEST_F(LimitsTest, TransportOptionsThatMakeNoSenseAreRefusedWhenTheChannelIsMade) {
  ChannelOptions options;
  options.transport.receive_buffer_bytes = 100;
  const absl::Status status = Channel::Create("host:1", options).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("receive_buffer_bytes is 100"));
}

TEST_F(LimitsTest, ARequestPastTheServersLimitIsRefusedWithBothNumbersAndTheConnectionLives) {
  ServerOptions options;
  options.transport.message_bytes_max = kSmallLimit;
  Serve(options);
  const std::shared_ptr<Channel> channel = Open();
  ASSERT_TRUE(Echo(channel, 1000).ok());
  const uint64_t connections_before = server_->counters().connections;
  const absl::Status status = Echo(channel, kTooMany);
  ExpectExhausted(status, absl::StrCat(kTooMany), absl::StrCat(kSmallLimit));
  EXPECT_EQ(GetCertainty(status), Certainty::kNotSent);
  EXPECT_EQ(Echo(channel, 1000), absl::OkStatus());
  EXPECT_EQ(server_->counters().connections, connections_before);
}

TEST_F(LimitsTest, ARequestPastTheClientsOwnLimitIsNotSent) {
  Serve();
  ChannelOptions options;
  options.transport.message_bytes_max = kSmallLimit;
  const std::shared_ptr<Channel> channel = Open(options);
  const absl::Status status = Echo(channel, kTooMany);
  ExpectExhausted(status, absl::StrCat(kTooMany), absl::StrCat(kSmallLimit));
  EXPECT_EQ(GetCertainty(status), Certainty::kNotSent);
  EXPECT_EQ(Echo(channel, 1000), absl::OkStatus());
}

TEST_F(LimitsTest, AResponsePastTheServersLimitFailsTheCallWithBothNumbers) {
  ServerOptions options;
  options.transport.message_bytes_max = kSmallLimit;
  Serve(options);
  const std::shared_ptr<Channel> channel = Open();
  ExpectExhausted(Fetch(channel, kTooMany), absl::StrCat(kTooMany), absl::StrCat(kSmallLimit));
  EXPECT_EQ(Fetch(channel, 1000), absl::OkStatus());
}

TEST_F(LimitsTest, AResponsePastTheClientsLimitFailsTheCallWithBothNumbers) {
  Serve();
  ChannelOptions options;
  options.transport.message_bytes_max = kSmallLimit;
  const std::shared_ptr<Channel> channel = Open(options);
  ExpectExhausted(Fetch(channel, kTooMany), absl::StrCat(kTooMany), absl::StrCat(kSmallLimit));
  EXPECT_EQ(Fetch(channel, 1000), absl::OkStatus());
}

// Calls of Hold in flight, each of which lasts until it is cancelled.
class HeldCalls {
 public:
  void Start(const std::shared_ptr<Channel>& channel) {
    Probe::Stub stub(channel);
    Call& call = calls_.emplace_back();
    call.request.set_milliseconds(600000);
    stub.async()->Hold(&call.context, &call.request, &call.reply, [this, &call](absl::Status status) {
      const std::lock_guard lock(mu_);
      call.status = std::move(status);
      call.done = true;
      changed_.notify_all();
    });
  }
  // Cancels all of them, and waits.
  ~HeldCalls() {
    for (Call& call : calls_) call.context.TryCancel();
    std::unique_lock lock(mu_);
    for (Call& call : calls_) {
      EXPECT_TRUE(changed_.wait_for(lock, absl::ToChronoMilliseconds(kPatience), [&] { return call.done; }));
    }
  }

 private:
  struct Call {
    ClientContext context;
    HoldRequest request;
    HoldReply reply;
    absl::Status status;
    bool done = false;
  };
  std::deque<Call> calls_;
  std::mutex mu_;
  std::condition_variable changed_;
};

TEST_F(LimitsTest, ACallPastTheServersLimitOfOneConnectionIsRefusedInWords) {
  ServerOptions options;
  options.calls_in_flight_per_connection_max = 3;
  Serve(options);
  const std::shared_ptr<Channel> channel = Open();
  {
    HeldCalls held;
    for (int i = 0; i < 3; ++i) held.Start(channel);
    const absl::Status status = Echo(channel, 10);
    ExpectExhausted(status, "3 calls in flight", "limit");
    EXPECT_EQ(GetCertainty(status), Certainty::kNotSent);
    EXPECT_EQ(Echo(Open(), 10), absl::OkStatus()) << "another connection has a limit of its own";
  }
  ASSERT_TRUE(WaitForCallsInFlight(0));
  EXPECT_EQ(Echo(channel, 10), absl::OkStatus());
}

TEST_F(LimitsTest, ACallPastTheServersLimitOfAllIsRefusedInWords) {
  ServerOptions options;
  options.calls_in_flight_max = 3;
  Serve(options);
  const std::shared_ptr<Channel> channel = Open();
  HeldCalls held;
  for (int i = 0; i < 3; ++i) held.Start(channel);
  ASSERT_TRUE(WaitForCallsInFlight(3));
  ExpectExhausted(Echo(Open(), 10), "3 calls in flight", "limit");
}

TEST_F(LimitsTest, ACallPastTheChannelsOwnLimitIsNotSent) {
  Serve();
  ChannelOptions options;
  options.calls_in_flight_max = 3;
  const std::shared_ptr<Channel> channel = Open(options);
  HeldCalls held;
  for (int i = 0; i < 3; ++i) held.Start(channel);
  const absl::Status status = Echo(channel, 10);
  ExpectExhausted(status, "3", "in flight");
  EXPECT_EQ(GetCertainty(status), Certainty::kNotSent);
}

TEST_F(LimitsTest, AConnectionPastTheServersLimitIsRejectedInWordsAndTheOthersLive) {
  ServerOptions options;
  options.transport.connections_max = 2;
  Serve(options);
  const std::shared_ptr<Channel> first = Open();
  const std::shared_ptr<Channel> second = Open();
  ASSERT_EQ(Echo(first, 10), absl::OkStatus());
  ASSERT_EQ(Echo(second, 10), absl::OkStatus());
  ChannelOptions impatient;
  impatient.connect_timeout = absl::Seconds(2);  // Enough to hear the answer on a loaded machine.
  const absl::Status status = Echo(Open(impatient), 10);
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), HasSubstr("too many connections"));
  EXPECT_EQ(GetCertainty(status), Certainty::kNotSent);
  EXPECT_EQ(Echo(first, 10), absl::OkStatus());
  EXPECT_EQ(Echo(second, 10), absl::OkStatus());
}

// The process's payload memory is client's and server's at once here: short for one, short for the other.
class ShortMemory : public LimitsTest {
 protected:
  static constexpr size_t kMemoryBytes = 4 << 20;
  ShortMemory() { SetPayloadMemoryLimit(kMemoryBytes); }
  ~ShortMemory() override { SetPayloadMemoryLimit(kPayloadMemoryLimitDefault); }
};

TEST_F(ShortMemory, AllocatingPastItFailsWithBothNumbers) {
  ExpectExhausted(AllocatePayload(64 << 20).status(), absl::StrCat(64 << 20), absl::StrCat(kMemoryBytes));
}

TEST_F(ShortMemory, ARequestThatCannotBeExportedFailsInWordsAndTheNextSucceeds) {
  Serve();
  const std::shared_ptr<Channel> channel = Open();
  const absl::Status status = Echo(channel, 32 << 20);
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  EXPECT_EQ(Echo(channel, 100000), absl::OkStatus());
}

TEST_F(ShortMemory, AResponseThatTheHandlerCannotAllocateFailsInWords) {
  Serve();
  const std::shared_ptr<Channel> channel = Open();
  ExpectExhausted(Fetch(channel, 32 << 20), absl::StrCat(kMemoryBytes), "payload memory");
  EXPECT_EQ(Fetch(channel, 100000), absl::OkStatus());
}

// The handler's reply stands in memory of its own; to send it, some must be registered.
class BigReplies : public ProbeService {
 public:
  absl::Status Fetch(ServerContext* context, const FetchRequest* request, FetchReply*) override {
    context->set_attachment(absl::Cord(std::string(request->bytes(), 'b')));
    return absl::OkStatus();
  }
};

TEST_F(ShortMemory, AResponseThatCannotBeExportedFailsInWordsAndTheNextSucceeds) {
  BigReplies service;
  Serve({}, &service);
  const std::shared_ptr<Channel> channel = Open();
  const absl::Status status = Fetch(channel, 32 << 20);
  ExpectExhausted(status, "payload memory", "response");
  EXPECT_EQ(GetCertainty(status), Certainty::kExecuted);
  EXPECT_EQ(Fetch(channel, 100000), absl::OkStatus());
  server_.reset();
}

// There is room for one side of the message only: the one that would land it has none.
TEST_F(ShortMemory, AMessageThatCannotBeLandedFailsInWordsAndTheNextSucceeds) {
  Serve();
  const std::shared_ptr<Channel> channel = Open();
  ASSERT_EQ(Echo(channel, 1000), absl::OkStatus());
  const absl::Status request = Echo(channel, 3 << 20);
  EXPECT_EQ(request.code(), absl::StatusCode::kResourceExhausted) << request;
  const absl::Status response = Fetch(channel, 3 << 20);
  EXPECT_EQ(response.code(), absl::StatusCode::kResourceExhausted) << response;
  EXPECT_EQ(Echo(channel, 100000), absl::OkStatus());
}

}  // namespace
}  // namespace verbena::probe
