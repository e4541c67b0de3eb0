// How many messages that have come at the same time, over many connections, are fetched at a time.

#include <cstdint>
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
constexpr uint64_t kMessageBytes = 4 << 20;
constexpr uint64_t kFetchedAtATime = 2;  // Of messages that are longer than half of the window.

TEST(FetchWindowOfALoop, LetsTwoLongMessagesInAndTheOthersAfterThem) {
  TransportPair pair;
  std::vector<End*> clients;
  for (size_t i = 0; i < kConnections; ++i) {
    clients.push_back(pair.Connect());
    ASSERT_NE(clients.back(), nullptr) << pair.status();
  }
  const uint64_t queued_before = ReadTransportCounters().fetches_queued;
  HoldUp hold_up(pair.accepted(0));
  uint64_t landing_bytes = 0;
  hold_up.loop()->Post([&] { landing_bytes = ReadTransportCounters().landing_bytes; });  // The turn after.
  for (End* client : clients) client->Send(1, absl::Cord(std::string(kMessageBytes, 'x')));
  for (End* client : clients) client->OnLoop([](Connection&) {});  // The turns in which they were announced have ended.
  hold_up.Release();
  for (size_t i = 0; i < kConnections; ++i) EXPECT_TRUE(pair.accepted(i)->WaitForMessages(1));
  EXPECT_GE(landing_bytes, kFetchedAtATime * kMessageBytes);
  EXPECT_LT(landing_bytes, (kFetchedAtATime + 1) * kMessageBytes);  // There are some bytes beside each.
  EXPECT_EQ(ReadTransportCounters().fetches_queued - queued_before, kConnections - kFetchedAtATime);
}

}  // namespace
}  // namespace verbena::transport
