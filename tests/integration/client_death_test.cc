// Clients are killed under a server: what they held comes back, their handlers learn that nobody waits, and the other
// clients notice nothing.

#include <atomic>
#include <memory>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "rpc/channel.h"
#include "rpc/client_context.h"
#include "rpc/server.h"
#include "rpc/server_context.h"
#include "tests/integration/child_process.h"
#include "tests/integration/device_under_test.h"
#include "tests/integration/probe_service.h"
#include "tests/integration/wait_until.h"

namespace verbena::probe {
namespace {

// In which everything of a dead client must be given back.
constexpr absl::Duration kBound = absl::Seconds(5);
constexpr absl::Duration kPatience = absl::Seconds(60);  // For what a test begins with: a sanitizer takes its time.
constexpr size_t kLargeBytes = 256 << 20;                // As probe_client has it.
constexpr int kManyConnections = 200;
constexpr uint32_t kCallsMax = 10 * kManyConnections;  // At once: probe_client echoes 8 per connection.

// Counts the Hold calls that run and those that were told of their cancellation.
class WatchedService : public ProbeService {
 public:
  absl::Status Hold(ServerContext* context, const HoldRequest* request, HoldReply* reply) override {
    ++holding;
    const absl::Status status = ProbeService::Hold(context, request, reply);
    if (context->IsCancelled()) ++cancelled;
    --holding;
    return status;
  }

  std::atomic<int> holding = 0;
  std::atomic<int> cancelled = 0;
};

class ClientDeath : public testing::Test {
 protected:
  ClientDeath() {
    ServerOptions options;
    options.transport.rnr_retry_count = 0;
    options.transport.handshake_timeout = kPatience / 2;  // So that one begun anew may be through in time.
    options.transport.message_bytes_max = uint64_t{1} << 30;
    options.executor_queue_max = kCallsMax;
    Server::Builder builder;
    builder.AddListeningAddress(integration::AddressUnderTest()).RegisterService(&service_).SetOptions(options);
    absl::StatusOr<std::unique_ptr<Server>> server = builder.Build();
    EXPECT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    bystander_ = std::thread([this] { CallForEver(); });
    EXPECT_TRUE(WaitUntil([this] { return bystander_calls_ > 10; }, kBound));
  }
  ~ClientDeath() override {
    stopping_ = true;
    bystander_.join();
    EXPECT_TRUE(WaitUntil([] { return ReadTransportCounters().connections == 0; }, kBound));
  }

  std::unique_ptr<ChildProcess> StartClient(const std::string& what, int connections = 1) {
    return std::make_unique<ChildProcess>(std::vector<std::string>{
        ProgramPath("probe_client"), server_->addresses().front(), what, absl::StrCat(connections)});
  }

  // Kills the client; within the bound, the server holds what the bystander needs and nothing else.
  void KillAndExpectNothingHeld(ChildProcess& client) {
    client.KillAndWait();
    const absl::Time killed = absl::Now();
    const auto idle = [this] {
      const ServerCounters server = server_->counters();
      const TransportCounters transport = ReadTransportCounters();
      return server.connections == 1 && server.calls_in_flight <= 1 && transport.connections == 2 &&
             transport.landing_bytes == 0 && transport.exported_bytes == 0 && transport.sends_queued <= 2;
    };
    EXPECT_TRUE(WaitUntil(idle, kBound)) << Describe();
    RecordProperty("milliseconds_to_idle", static_cast<int>(absl::ToInt64Milliseconds(absl::Now() - killed)));
    const uint64_t calls = bystander_calls_;
    EXPECT_TRUE(WaitUntil([&] { return bystander_calls_ > calls + 10; }, kBound)) << "another client is held up";
  }

  // Until so many more have come, the bystander's too.
  static bool WaitForFrames(uint64_t count) {
    const uint64_t before = ReadTransportCounters().frames_received;
    return WaitUntil([&] { return ReadTransportCounters().frames_received >= before + count; }, kPatience);
  }

  std::string Describe() {
    const ServerCounters server = server_->counters();
    const TransportCounters transport = ReadTransportCounters();
    return absl::StrCat(server.connections, " connections and ", server.calls_in_flight, " calls at the server; ",
                        transport.connections, " connections, ", transport.landing_bytes, " bytes of landing, ",
                        transport.exported_bytes, " bytes exported, ", transport.sends_queued, " sends queued");
  }

  WatchedService service_;
  std::unique_ptr<Server> server_;

 private:
  // Another client, whose small calls must all succeed.
  void CallForEver() {
    ChannelOptions options;
    options.transport.rnr_retry_count = 0;
    Probe::Stub stub(*Channel::Create(server_->addresses().front(), options));
    while (!stopping_) {
      ClientContext context;
      context.set_timeout(kBound);
      EchoRequest request;
      EchoReply reply;
      request.set_body("undisturbed");
      const absl::Status status = stub.Echo(&context, request, &reply);
      EXPECT_TRUE(status.ok()) << status;
      if (!status.ok()) return;
      ++bystander_calls_;
      absl::SleepFor(absl::Milliseconds(1));
    }
  }

  std::atomic<bool> stopping_ = false;
  std::atomic<uint64_t> bystander_calls_ = 0;
  std::thread bystander_;
};

TEST_F(ClientDeath, AmidSmallCallsLeavesNothing) {
  const std::unique_ptr<ChildProcess> client = StartClient("echo");
  ASSERT_EQ(client->ReadLine(), "calling");
  ASSERT_TRUE(WaitForFrames(1000));  // Somewhere in the middle; any moment must do.
  KillAndExpectNothingHeld(*client);
}

TEST_F(ClientDeath, WhileItsRequestIsFetchedLeavesNothing) {
  const uint64_t reads = ReadTransportCounters().reads;
  const std::unique_ptr<ChildProcess> client = StartClient("upload");
  ASSERT_EQ(client->ReadLine(), "calling");
  ASSERT_TRUE(WaitUntil([&] { return ReadTransportCounters().reads > reads + 10; }, kPatience));
  KillAndExpectNothingHeld(*client);
}

TEST_F(ClientDeath, WhileItFetchesAResponseLeavesNothing) {
  const std::unique_ptr<ChildProcess> client = StartClient("download");
  ASSERT_EQ(client->ReadLine(), "calling");
  ASSERT_TRUE(WaitUntil([] { return ReadTransportCounters().exported_bytes >= integration::LargeBytes(kLargeBytes); },
                        kPatience));
  KillAndExpectNothingHeld(*client);
}

TEST_F(ClientDeath, TellsItsHandlers) {
  const std::unique_ptr<ChildProcess> client = StartClient("hold", 4);
  ASSERT_EQ(client->ReadLine(), "calling");
  ASSERT_TRUE(WaitUntil([this] { return service_.holding == 4; }, kBound));
  client->KillAndWait();
  EXPECT_TRUE(WaitUntil([this] { return service_.holding == 0; }, kBound));
  EXPECT_EQ(service_.cancelled, 4);
  KillAndExpectNothingHeld(*client);
}

TEST_F(ClientDeath, OfTwoHundredConnectionsAtOnceLeavesNothing) {
  const std::unique_ptr<ChildProcess> client = StartClient("echo", kManyConnections);
  ASSERT_EQ(client->ReadLine(), "calling");
  ASSERT_TRUE(WaitUntil([this] { return server_->counters().connections == kManyConnections + 1; }, kPatience));
  KillAndExpectNothingHeld(*client);
}

TEST_F(ClientDeath, OneAfterAnotherLeavesNothing) {
  for (int i = 0; i < 10; ++i) {
    const std::unique_ptr<ChildProcess> client = StartClient(i % 2 == 0 ? "echo" : "upload");
    ASSERT_EQ(client->ReadLine(), "calling");
    ASSERT_TRUE(WaitForFrames(50 * i));
    KillAndExpectNothingHeld(*client);
  }
}

}  // namespace
}  // namespace verbena::probe
