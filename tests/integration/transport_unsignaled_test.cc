// SENDs that nobody waits for, and that ask for no completion.

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "tests/integration/held.h"
#include "tests/integration/transport_pair.h"
#include "transport/endpoint.h"

namespace verbena::transport {
namespace {

// One after the other: so that each has a doorbell of its own. Their answers leave unreported, too.
void Ask(End* client, uint64_t count) {
  ASSERT_NE(client, nullptr);
  client->leaves_unreported = true;
  const size_t answers = client->messages().size();
  for (uint64_t i = 1; i <= count; ++i) {
    client->Send(i, absl::Cord("the question"));
    ASSERT_TRUE(client->WaitForMessages(answers + i));
  }
}

class Unsignaled : public testing::Test {
 protected:
  // Loops that wait by `wait`, and answer each message.
  void Start(WaitPolicy wait, const TransportOptions& options = TestOptions()) {
    pair_.emplace(options, wait);
    pair_->prepare_accepted = [](End& end) {
      end.leaves_unreported = true;
      end.on_message = [](End& server, const End::Message& message) {
        server.Reply(message.call_id, absl::Cord("the answer"));
      };
    };
  }
  // Null, and the test has failed, if it fails.
  End* Connect() {
    End* const client = pair_->Connect();
    EXPECT_NE(client, nullptr) << pair_->status();
    return client;
  }
  uint64_t UnsignaledSince() {
    const uint64_t now = ReadTransportCounters().sends_unsignaled;
    return now - std::exchange(before_, now);
  }

  std::optional<TransportPair> pair_;
  uint64_t before_ = ReadTransportCounters().sends_unsignaled;
};

TEST_F(Unsignaled, ALoopThatPollsAsksForAFewCompletionsOnly) {
  Start(WaitPolicy::kBusy);
  End* const client = Connect();
  constexpr uint64_t kCalls = 100;
  ASSERT_NO_FATAL_FAILURE(Ask(client, kCalls));
  const uint64_t unsignaled = UnsignaledSince();
  EXPECT_GT(unsignaled, kCalls);  // Of twice as many.
  EXPECT_LT(unsignaled, 2 * kCalls * 9 / 10);
}

TEST_F(Unsignaled, ALoopThatSleepsAsksForEach) {
  Start(WaitPolicy::kEvent);
  End* const client = Connect();
  UnsignaledSince();
  for (int i = 0; i < 20; ++i) {
    absl::SleepFor(absl::Milliseconds(2));
    ASSERT_NO_FATAL_FAILURE(Ask(client, 1));
  }
  EXPECT_EQ(UnsignaledSince(), 0u);
}

TEST_F(Unsignaled, WhatIsSentWithAReportHasOneAfterOthers) {
  Start(WaitPolicy::kBusy);
  End* const client = Connect();
  ASSERT_NO_FATAL_FAILURE(Ask(client, 5));
  client->leaves_unreported = false;
  client->Send(100, absl::Cord("reported"));
  EXPECT_TRUE(client->WaitForSent(1));
}

TEST_F(Unsignaled, AConnectionWithSomeDrains) {
  Start(WaitPolicy::kBusy);
  End* const client = Connect();
  ASSERT_NO_FATAL_FAILURE(Ask(client, 5));
  client->OnLoop([](Connection& connection) { connection.Drain(); });
  ASSERT_TRUE(client->WaitForClosed());
  EXPECT_EQ(client->closed_status(), absl::OkStatus());
}

// None of them completes any more when the peer ends it, and nobody waits for that.
TEST_F(Unsignaled, AConnectionWithSomeEndsAtOnce) {
  Start(WaitPolicy::kBusy);
  End* const client = Connect();
  ASSERT_NO_FATAL_FAILURE(Ask(client, 5));
  ASSERT_GT(UnsignaledSince(), 0u);
  const absl::Time begin = absl::Now();
  pair_->accepted(0)->OnLoop([](Connection& connection) { connection.Abort(absl::CancelledError("enough")); });
  ASSERT_TRUE(client->WaitForClosed());
  EXPECT_LT(absl::Now() - begin, absl::Seconds(1.8));  // Flushed completions are waited for longer.
  ASSERT_TRUE(pair_->accepted(0)->WaitForClosed());
  pair_->Close();
  EXPECT_EQ(DescribeHeld(), "");
}

// Connections that are silent keep a part of the buffers; those that are not have the others.
TEST_F(Unsignaled, FewSendBuffersServeManyConnections) {
  TransportOptions options = TestOptions();
  options.send_buffers = 16;
  Start(WaitPolicy::kBusy, options);
  std::vector<End*> clients;
  for (int i = 0; i < 12; ++i) clients.push_back(Connect());
  for (End* client : clients) ASSERT_NO_FATAL_FAILURE(Ask(client, 5));
  for (int round = 0; round < 5; ++round) {
    for (End* client : clients) ASSERT_NO_FATAL_FAILURE(Ask(client, 1));
  }
}

}  // namespace
}  // namespace verbena::transport
