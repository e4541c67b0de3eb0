// A device whose rdma_connect waits for the network, as iWARP devices do for TCP: the loop serves others meanwhile,
// what was promised of the attempt holds, and whoever takes the loop down waits for the call.
//
// On the software device with the profile of siw (BUILD.bazel), made slow by its fault plan.

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <utility>

#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/integration/device_under_test.h"
#include "tests/integration/held.h"
#include "tests/integration/transport_pair.h"
#include "tests/integration/wait_until.h"
#include "transport/soft/fault_plan.h"

namespace verbena::transport {
namespace {

using ::testing::HasSubstr;

// What a call takes longer, and how late a busy machine may be with everything else.
constexpr uint32_t kSlowMs = 6000;
constexpr absl::Duration kSlow = absl::Milliseconds(kSlowMs);
constexpr absl::Duration kLateMax = absl::Seconds(4);
constexpr absl::Duration kHandshakeTimeout = absl::Seconds(1);

TransportOptions Patient() {
  TransportOptions options = TestOptions();
  options.handshake_timeout = absl::Minutes(1);
  return options;
}

TransportOptions Impatient() {
  TransportOptions options = TestOptions();
  options.handshake_timeout = kHandshakeTimeout;
  return options;
}

// Of the next call of rdma_connect.
void PlanNextConnect(soft::FaultKind kind) {
  soft::PlanFaultsOfProcess({{.kind = kind, .operation = 1, .amount = kSlowMs}});
}

// A pair of which one connection is there, and answers each message.
class SlowConnect : public testing::Test {
 protected:
  ~SlowConnect() override { soft::PlanFaultsOfProcess({}); }

  void Open(const TransportOptions& options) {
    pair_ = std::make_unique<TransportPair>(options);
    pair_->prepare_accepted = [](End& end) {
      end.on_message = [](End& self, const End::Message& message) { self.Reply(message.call_id, message.payload); };
    };
    other_ = pair_->Connect();
    ASSERT_NE(other_, nullptr) << pair_->status();
  }
  bool Echo(End* end) {
    const size_t before = end->messages().size();
    end->Send(1, absl::Cord("x"));
    return end->WaitForMessages(before + 1);
  }
  // The other connection's loop answers in time again and again, until `condition` holds.
  template <typename Condition>
  void ExpectOtherServedUntil(Condition condition) {
    while (!condition()) {
      const absl::Time begin = absl::Now();
      ASSERT_TRUE(Echo(other_));
      ASSERT_LT(absl::Now() - begin, kLateMax);
    }
  }
  // Each counts at both ends.
  static bool ConnectionsAre(uint64_t count) { return ReadTransportCounters().connections == 2 * count; }

  std::unique_ptr<TransportPair> pair_;
  End* other_ = nullptr;
};

TEST_F(SlowConnect, SucceedsWhileTheLoopServesOthers) {
  Open(Patient());
  PlanNextConnect(soft::FaultKind::kSlowConnect);
  const absl::Time begin = absl::Now();
  std::future<End*> connecting = std::async(std::launch::async, [this] { return pair_->Connect(); });
  ExpectOtherServedUntil([&] { return connecting.wait_for(std::chrono::seconds(0)) == std::future_status::ready; });
  End* const connected = connecting.get();
  EXPECT_GE(absl::Now() - begin, kSlow);
  ASSERT_NE(connected, nullptr) << pair_->status();
  EXPECT_TRUE(Echo(connected));
  pair_->Close();
  EXPECT_EQ(DescribeHeld(), "");
}

TEST_F(SlowConnect, FailsAtTheHandshakeTimeoutAndItsLinkEndsAfterTheReturn) {
  Open(Impatient());
  PlanNextConnect(soft::FaultKind::kSlowConnect);
  const absl::Time begin = absl::Now();
  EXPECT_EQ(pair_->Connect(), nullptr);
  EXPECT_LT(absl::Now() - begin, kHandshakeTimeout + kLateMax);
  EXPECT_EQ(pair_->status().code(), absl::StatusCode::kDeadlineExceeded) << pair_->status();
  EXPECT_THAT(std::string(pair_->status().message()),
              HasSubstr("within the handshake_timeout of 1s: still waiting for an answer to the connect request"));
  EXPECT_FALSE(ConnectionsAre(1)) << "what the call uses is kept";
  ExpectOtherServedUntil([] { return ConnectionsAre(1); });
  EXPECT_GE(absl::Now() - begin, kSlow);
  End* const next = pair_->Connect();
  ASSERT_NE(next, nullptr) << pair_->status();
  EXPECT_TRUE(Echo(next));
}

TEST_F(SlowConnect, IsMadeAndEndedBeforeTheCallReturns) {
  Open(Patient());
  PlanNextConnect(soft::FaultKind::kLateReturn);
  const absl::Time begin = absl::Now();
  End* const connected = pair_->Connect();
  ASSERT_NE(connected, nullptr) << pair_->status();
  EXPECT_TRUE(Echo(connected));
  connected->Destroy();
  EXPECT_LT(absl::Now() - begin, kLateMax);
  ExpectOtherServedUntil([] { return ConnectionsAre(1); });
  EXPECT_GE(absl::Now() - begin, kSlow);
}

TEST_F(SlowConnect, IsRejectedBeforeTheCallReturns) {
  Open(Patient());
  pair_->listener().Close();
  PlanNextConnect(soft::FaultKind::kLateReturn);
  const absl::Time begin = absl::Now();
  EXPECT_EQ(pair_->Connect(), nullptr);
  EXPECT_THAT(std::string(pair_->status().message()), HasSubstr("shutting down"));
  EXPECT_LT(absl::Now() - begin, kLateMax);
  ExpectOtherServedUntil([] { return ConnectionsAre(1); });
  EXPECT_GE(absl::Now() - begin, kSlow);
}

TEST_F(SlowConnect, WhoeverTakesItsLoopDownWaitsForTheCall) {
  Open(Impatient());
  PlanNextConnect(soft::FaultKind::kSlowConnect);
  const absl::Time begin = absl::Now();
  EXPECT_EQ(pair_->Connect(), nullptr);
  pair_->Close();
  EXPECT_GE(absl::Now() - begin, kSlow);
  EXPECT_EQ(DescribeHeld(), "");
}

// Its loop has made the listener's buffers before it began to connect: of what a loop keeps, the attempt goes first.
TEST_F(SlowConnect, ALoopThatListensTakesTheAttemptWithIt) {
  std::unique_ptr<EventLoopGroup> loops = *EventLoopGroup::Start(1, {});
  const std::string address = integration::AddressUnderTest();
  std::unique_ptr<Listener> listener =
      *Listener::Listen(address, TestOptions(), {loops->loop(0)}, [](std::unique_ptr<Connection>) {});
  PlanNextConnect(soft::FaultKind::kSlowConnect);
  std::atomic<bool> told = false;
  Connect(listener->addresses().front(), TestOptions(), loops->loop(0),
          [&told](absl::StatusOr<std::unique_ptr<Connection>>) { told = true; });
  ASSERT_TRUE(WaitUntil([] { return ReadTransportCounters().connections == 1; }, kLateMax));
  listener.reset();
  loops.reset();
  EXPECT_FALSE(told);
  EXPECT_EQ(DescribeHeld(), "");
}

}  // namespace
}  // namespace verbena::transport
