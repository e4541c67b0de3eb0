// Large messages that wait for their turn to be fetched, when somebody loses interest in them: the others have theirs,
// and the connection goes on.

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/cord.h"
#include "gtest/gtest.h"
#include "tests/integration/transport_pair.h"
#include "tests/integration/turns/hold_up.h"
#include "transport/endpoint.h"

namespace verbena::transport {
namespace {

constexpr size_t kConnections = 8;
constexpr uint64_t kMessageBytes = 4 << 20;  // Two of this length fill the window: six wait.
constexpr size_t kWaiting[] = {3, 7};        // Of those, these are given up.
constexpr uint64_t kCall = 1;

bool IsGivenUp(size_t index) { return std::count(std::begin(kWaiting), std::end(kWaiting), index) > 0; }

absl::Cord Message() { return absl::Cord(std::string(kMessageBytes, 'x')); }

class QueuedFetches : public testing::Test {
 protected:
  void SetUp() override {
    for (size_t i = 0; i < kConnections; ++i) {
      clients_.push_back(pair_.Connect());
      ASSERT_NE(clients_.back(), nullptr) << pair_.status();
    }
  }

  // One on each connection, all announced before `hold_up` lets the server's loop go.
  void AnnounceOnEach() {
    for (End* client : clients_) sends_.push_back(client->Send(kCall, Message()));
    AwaitTheirTurns();
  }
  // Of all clients: what they did has left.
  void AwaitTheirTurns() {
    for (End* client : clients_) client->OnLoop([](Connection&) {});
  }
  void ExpectTheOthersCome() {
    for (size_t i = 0; i < kConnections; ++i) {
      if (IsGivenUp(i)) continue;
      EXPECT_TRUE(pair_.accepted(i)->WaitForMessages(1)) << i;
    }
  }
  void ExpectTheConnectionsGoOn() {
    for (const size_t i : kWaiting) {
      clients_[i]->Send(kCall + 1, Message());
      ASSERT_TRUE(pair_.accepted(i)->WaitForMessages(1)) << i;
      EXPECT_EQ(pair_.accepted(i)->messages().front().call_id, kCall + 1) << i;
      EXPECT_EQ(pair_.accepted(i)->messages().size(), 1u) << i;
    }
  }

  TransportPair pair_;
  std::vector<End*> clients_;
  std::vector<uint64_t> sends_;
};

TEST_F(QueuedFetches, OfMessagesThatAreWithdrawn) {
  HoldUp hold_up(pair_.accepted(0));
  AnnounceOnEach();
  for (const size_t i : kWaiting) {
    clients_[i]->OnLoop([send = sends_[i]](Connection& connection) { connection.CancelSend(send); });
  }
  AwaitTheirTurns();
  hold_up.Release();
  ExpectTheOthersCome();
  ExpectTheConnectionsGoOn();
  for (const size_t i : kWaiting) EXPECT_EQ(pair_.accepted(i)->failed_fetches().size(), 1u) << i;
}

TEST_F(QueuedFetches, ThatAreCancelled) {
  std::vector<Connection*> served;
  for (size_t i = 0; i < kConnections; ++i) {
    pair_.accepted(i)->OnLoop([&](Connection& connection) { served.push_back(&connection); });
  }
  HoldUp hold_up(pair_.accepted(0));
  AnnounceOnEach();
  hold_up.loop()->Post([&] {  // The turn after.
    for (const size_t i : kWaiting) served[i]->CancelFetch(kCall);
  });
  hold_up.Release();
  ExpectTheOthersCome();
  ExpectTheConnectionsGoOn();
  for (const size_t i : kWaiting) {
    ASSERT_TRUE(clients_[i]->WaitForSent(1));
    EXPECT_NE(clients_[i]->sent().front().second, SendOutcome::kDelivered) << i;
  }
}

TEST_F(QueuedFetches, OfPeersThatGo) {
  HoldUp hold_up(pair_.accepted(0));
  AnnounceOnEach();
  for (const size_t i : kWaiting) clients_[i]->Destroy();
  hold_up.Release();
  ExpectTheOthersCome();
  for (const size_t i : kWaiting) {
    EXPECT_TRUE(pair_.accepted(i)->WaitForClosed()) << i;
    EXPECT_TRUE(pair_.accepted(i)->messages().empty()) << i;
  }
}

TEST_F(QueuedFetches, OfConnectionsThatAreDestroyed) {
  HoldUp hold_up(pair_.accepted(0));
  AnnounceOnEach();
  hold_up.Release();
  for (const size_t i : kWaiting) pair_.accepted(i)->Destroy();
  ExpectTheOthersCome();
  for (const size_t i : kWaiting) EXPECT_TRUE(clients_[i]->WaitForClosed()) << i;
  pair_.Close();
  EXPECT_EQ(ReadTransportCounters().landing_bytes, 0u);
}

}  // namespace
}  // namespace verbena::transport
