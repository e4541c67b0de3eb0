// How connections end on the device under test, both ends in one process: drained, aborted, dropped, rejected; nothing
// stays behind.

#include <atomic>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/integration/device_under_test.h"
#include "tests/integration/held.h"
#include "tests/integration/transport_pair.h"
#include "tests/integration/wait_until.h"

namespace verbena::transport {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr uint64_t kConnectionsEnding = 100;  // At once, at most; of 300. Each end takes some 50 ms on some devices.

// What a connection has of its own on a device without shared receive queues; 0 on others. While there is one or none.
uint64_t OwnReceiveBytes() {
  const TransportOptions options = TestOptions();
  if (ReadTransportCounters().receive_buffers >= options.receive_buffers) return 0;
  return uint64_t{options.receive_buffers_per_connection} * options.receive_buffer_bytes;
}

TEST(Endings, ADrainFinishesWhatIsInFlightAndClosesBothEndsWithOk) {
  TransportPair pair;
  End* const client = pair.Connect();
  ASSERT_NE(client, nullptr) << pair.status();
  for (uint64_t i = 0; i < 50; ++i) client->Send(i, absl::Cord(std::string(i % 2 == 0 ? 100 : 100000, 'x')));
  client->OnLoop([](Connection& connection) { connection.Drain(); });
  ASSERT_TRUE(client->WaitForClosed());
  ASSERT_TRUE(pair.accepted(0)->WaitForClosed());
  EXPECT_EQ(client->closed_status(), absl::OkStatus());
  EXPECT_EQ(pair.accepted(0)->closed_status(), absl::OkStatus());
  EXPECT_EQ(pair.accepted(0)->messages().size(), 50u);
  EXPECT_TRUE(pair.accepted(0)->peer_draining());
  pair.Close();
  EXPECT_EQ(DescribeHeld(), "");
}

TEST(Endings, AnAbortIsSeenByTheOtherEndAndEverySendIsReported) {
  TransportPair pair;
  End* const client = pair.Connect();
  ASSERT_NE(client, nullptr) << pair.status();
  for (uint64_t i = 0; i < 200; ++i) client->Send(i, absl::Cord(std::string(50000, 'x')));
  client->OnLoop([](Connection& connection) { connection.Abort(absl::CancelledError("enough")); });
  ASSERT_TRUE(client->WaitForClosed());
  ASSERT_TRUE(pair.accepted(0)->WaitForClosed());
  EXPECT_EQ(client->sent().size(), 200u);
  EXPECT_EQ(client->closed_status().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(pair.accepted(0)->closed_status().code(), absl::StatusCode::kUnavailable);
  pair.Close();
  EXPECT_EQ(DescribeHeld(), "");
}

TEST(Endings, ALoopThatWasHeldUpForTooLongLearnsThatThePeerHasDisconnected) {
  TransportOptions options = TestOptions();
  options.keepalive_interval = absl::Milliseconds(200);
  options.keepalive_timeout = absl::Milliseconds(200);
  TransportPair pair(options);
  End* const client = pair.Connect();
  ASSERT_NE(client, nullptr) << pair.status();
  End* const server = pair.accepted(0);
  ASSERT_NE(server, nullptr);
  client->OnLoop([&](Connection&) {
    EXPECT_TRUE(server->WaitForClosed());
    absl::SleepFor(absl::Milliseconds(200));  // For the client's device to learn of it.
    client->Reply(1, absl::Cord(std::string(100'000, 'x')));
  });
  ASSERT_TRUE(client->WaitForClosed());
  EXPECT_EQ(client->closed_status().code(), absl::StatusCode::kUnavailable);
  // Or both were held up for so long before, and the client has given up the server.
  EXPECT_THAT(std::string(client->closed_status().message()),
              AnyOf(HasSubstr("disconnected"), HasSubstr("a keepalive probe timed out")));
}

TEST(Endings, AHandleMayBeDestroyedAtAnyMoment) {
  for (int i = 0; i < 20; ++i) {
    TransportPair pair;
    End* const client = pair.Connect();
    ASSERT_NE(client, nullptr) << pair.status();
    for (uint64_t call = 0; call < 20; ++call) client->Send(call, absl::Cord(std::string(30000, 'x')));
    client->Destroy();
    ASSERT_TRUE(pair.accepted(0)->WaitForClosed());
  }
  EXPECT_EQ(DescribeHeld(), "");
}

TEST(Endings, ConnectingWhereNobodyListensFailsAtOnceInWords) {
  TransportPair pair;
  std::promise<absl::Status> done;
  Connect(integration::AddressUnderTest(1), TestOptions(), pair.client_loop(),
          [&](absl::StatusOr<std::unique_ptr<Connection>> connection) { done.set_value(connection.status()); });
  const absl::Status status = done.get_future().get();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
  EXPECT_THAT(std::string(status.message()),
              StartsWith("cannot connect to " + integration::AddressUnderTest(1) + ": "));
  // iWARP's connection manager has TCP's words for it.
  EXPECT_THAT(std::string(status.message()), AnyOf(HasSubstr("nobody listens"), HasSubstr("Connection refused")));
}

TEST(Endings, AListenerThatClosesRejectsInWords) {
  TransportPair pair;
  ASSERT_NE(pair.Connect(), nullptr) << pair.status();
  pair.listener().Close();
  EXPECT_EQ(pair.Connect(), nullptr);
  EXPECT_EQ(pair.status().code(), absl::StatusCode::kUnavailable) << pair.status();
  EXPECT_NE(pair.status().message().find("shutting down"), absl::string_view::npos) << pair.status();
}

TEST(Endings, HundredsOfConnectionsOneAfterAnotherLeaveNothingBehind) {
  TransportPair pair;
  End* const first = pair.Connect();
  ASSERT_NE(first, nullptr) << pair.status();
  first->Destroy();
  const uint64_t pinned = ReadTransportCounters().pinned_bytes;
  const uint64_t own_receive_bytes = OwnReceiveBytes();
  const auto few_are_ending = [] { return ReadTransportCounters().connections <= 2 * (kConnectionsEnding - 1); };
  for (int i = 0; i < 300; ++i) {
    ASSERT_TRUE(WaitUntil(few_are_ending, End::kPatience)) << i << ": " << DescribeHeld();
    End* const client = pair.Connect();
    ASSERT_NE(client, nullptr) << i << ": " << pair.status();
    client->Send(1, absl::Cord("x"));
    ASSERT_TRUE(client->WaitForSent(1));
    client->Destroy();
  }
  // Without shared receives a connection takes its own before the one that ends has given its back.
  EXPECT_LE(ReadTransportCounters().pinned_bytes, pinned + 2 * kConnectionsEnding * own_receive_bytes);
  pair.Close();
  EXPECT_EQ(DescribeHeld(), "");
}

TEST(Endings, TwoHundredConnectionsPinAtMostSixteenKibibytesEach) {
  TransportPair pair;
  ASSERT_NE(pair.Connect(), nullptr) << pair.status();
  const uint64_t pinned = ReadTransportCounters().pinned_bytes;
  const uint64_t own_receive_bytes = OwnReceiveBytes();
  for (int i = 0; i < 200; ++i) {
    End* const client = pair.Connect();
    ASSERT_NE(client, nullptr) << i << ": " << pair.status();
    client->Send(i, absl::Cord("hello"));
    ASSERT_TRUE(client->WaitForSent(1));
  }
  EXPECT_LE(ReadTransportCounters().pinned_bytes,
            pinned + 2 * 200 * (16384 + own_receive_bytes));  // Both ends are in this process.
  EXPECT_LE(ReadTransportCounters().credits_granted, ReadTransportCounters().receives_posted);
}

TEST(Endings, PastConnectionsMaxTheServerRejectsInWords) {
  TransportOptions options = TestOptions();
  options.connections_max = 2;
  TransportPair pair(options);
  ASSERT_NE(pair.Connect(), nullptr) << pair.status();
  ASSERT_NE(pair.Connect(), nullptr) << pair.status();
  EXPECT_EQ(pair.Connect(), nullptr);
  EXPECT_EQ(pair.status().code(), absl::StatusCode::kResourceExhausted) << pair.status();
}

// Who connects to a server of two loops, one of which is stuck.
class StuckLoop : public testing::Test {
 protected:
  StuckLoop() {
    TransportOptions options = TestOptions();
    options.connections_max = 3;
    const auto accept = [this](std::unique_ptr<Connection> connection) { Keep(std::move(connection)); };
    listener_ = *Listener::Listen(integration::AddressUnderTest(), options,
                                  {server_loops_->loop(0), server_loops_->loop(1)}, accept);
    server_loops_->loop(1)->Post([this] { release_.get_future().wait(); });
  }
  ~StuckLoop() override {
    release_.set_value();
    EXPECT_TRUE(WaitUntil([&] { return over_ == begun_; }, End::kPatience));
    listener_.reset();  // It accepts nobody any more.
    ends_.clear();
    client_loops_.reset();
    server_loops_.reset();
  }

  void Connect() {
    ++begun_;
    TransportOptions options = TestOptions();
    options.handshake_timeout = End::kPatience;
    transport::Connect(listener_->addresses().front(), options, client_loops_->loop(0),
                       [this](absl::StatusOr<std::unique_ptr<Connection>> connection) {
                         if (absl::IsResourceExhausted(connection.status())) ++rejected_;
                         if (connection.ok()) Keep(*std::move(connection));
                         ++over_;
                       });
  }
  bool WaitForRejected(int count) {
    return WaitUntil([&] { return rejected_ >= count; }, End::kPatience);
  }

 private:
  void Keep(std::unique_ptr<Connection> connection) {
    auto end = std::make_unique<End>();
    end->Adopt(std::move(connection));
    const std::lock_guard lock(mu_);
    ends_.push_back(std::move(end));
  }

  std::promise<void> release_;
  std::unique_ptr<EventLoopGroup> server_loops_ = *EventLoopGroup::Start(2, {});
  std::unique_ptr<EventLoopGroup> client_loops_ = *EventLoopGroup::Start(1, {});
  std::unique_ptr<Listener> listener_;
  int begun_ = 0;
  std::atomic<int> over_ = 0;
  std::atomic<int> rejected_ = 0;
  std::mutex mu_;
  std::vector<std::unique_ptr<End>> ends_;
};

TEST_F(StuckLoop, LetsNoMoreWaitThanThereMayBeConnections) {
  for (int i = 0; i < 30; ++i) Connect();  // Three are connected, and three wait: without a bound every other.
  EXPECT_TRUE(WaitForRejected(20));
}

}  // namespace
}  // namespace verbena::transport
