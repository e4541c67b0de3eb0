// Messages that leave within the call that sends them.

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tests/integration/transport_pair.h"
#include "transport/counters.h"

namespace verbena::transport {
namespace {

TEST(AtOnce, AMessageThatMayLeaveUnreportedDoesAndArrives) {
  TransportPair pair;
  End* const client = pair.Connect();
  ASSERT_NE(client, nullptr) << pair.status();
  client->leaves_unreported = true;
  EXPECT_EQ(client->Send(7, absl::Cord("small"), "its header"), Connection::kLeft);
  End* const server = pair.accepted(0);
  ASSERT_NE(server, nullptr);
  ASSERT_TRUE(server->WaitForMessages(1));
  const End::Message message = server->messages().front();
  EXPECT_EQ(message.call_id, 7u);
  EXPECT_EQ(message.header, "its header");
  EXPECT_EQ(message.payload, "small");
  client->leaves_unreported = false;
  client->Send(8, absl::Cord("reported"));
  ASSERT_TRUE(client->WaitForSent(1));
  EXPECT_EQ(client->sent().front().first, 8u);
}

TEST(AtOnce, ALargeOneIsReported) {
  TransportPair pair;
  End* const client = pair.Connect();
  ASSERT_NE(client, nullptr) << pair.status();
  client->leaves_unreported = true;
  EXPECT_NE(client->Send(7, absl::Cord(std::string(100000, 'x'))), Connection::kLeft);
  ASSERT_TRUE(client->WaitForSent(1));
  EXPECT_EQ(client->sent().front(), std::pair(uint64_t{7}, SendOutcome::kDelivered));
}

// More than there are credits: some leave at once, some wait behind others. None overtakes, none is said of twice.
TEST(AtOnce, WhatMustWaitIsReportedAndAllArriveInOrder) {
  TransportPair pair;
  End* const client = pair.Connect();
  ASSERT_NE(client, nullptr) << pair.status();
  constexpr uint64_t kRounds = 20;
  constexpr uint64_t kInARow = 200;
  constexpr uint64_t kUnreported = 150;  // Of them, the first.
  for (uint64_t round = 0; round < kRounds; ++round) {
    client->OnLoop([client, round](Connection&) {
      for (uint64_t i = 0; i < kInARow; ++i) {
        client->leaves_unreported = i < kUnreported;
        client->Reply(round * kInARow + i, absl::Cord(std::string(i % 5 * 1000, 'x')));
      }
    });
  }
  constexpr uint64_t kMessages = kRounds * kInARow;
  End* const server = pair.accepted(0);
  ASSERT_NE(server, nullptr);
  ASSERT_TRUE(server->WaitForMessages(kMessages));
  const std::vector<End::Message> messages = server->messages();
  for (uint64_t i = 0; i < kMessages; ++i) EXPECT_EQ(messages[i].call_id, i);
  uint64_t left = 0;
  client->OnLoop([client, &left](Connection&) { left = client->left; });
  EXPECT_GT(left, 0u);
  EXPECT_LT(left, kRounds * kUnreported);  // Some had to wait.
  client->leaves_unreported = false;
  client->Send(kMessages, absl::Cord("the last"));  // Its report is behind all others.
  ASSERT_TRUE(client->WaitForSent(kMessages - left + 1));
  EXPECT_EQ(client->sent().size(), kMessages - left + 1);
  EXPECT_EQ(client->sent().back().first, kMessages);
}

TEST(AtOnce, AnAnswerHasLeftWhenItsHandlerReturns) {
  TransportPair pair;
  std::atomic<uint64_t> early_doorbells = 0;
  pair.prepare_accepted = [&early_doorbells](End& end) {
    end.leaves_unreported = true;
    end.on_message = [&early_doorbells](End& server, const End::Message& message) {
      const uint64_t before = ReadTransportCounters().doorbells;
      server.Reply(message.call_id, absl::Cord("the answer"));
      early_doorbells += ReadTransportCounters().doorbells - before;
    };
  };
  End* const client = pair.Connect();
  ASSERT_NE(client, nullptr) << pair.status();
  constexpr uint64_t kCalls = 50;
  for (uint64_t call = 0; call < kCalls; ++call) {
    client->Send(call, absl::Cord("the question"));
    ASSERT_TRUE(client->WaitForMessages(call + 1));
  }
  // Not where the completion of an earlier SEND stood behind the question.
  EXPECT_GE(early_doorbells, kCalls / 2);
}

// All of them in one SEND, to an end that waits.
TEST(AtOnce, HalfOfTheAnswersToABatchHaveLeftBeforeTheOthersAreMade) {
  constexpr uint64_t kBatch = 8;
  constexpr uint64_t kRounds = 200;  // A moment in which the machine does something else is not all of them.
  TransportPair pair;
  std::array<std::atomic<uint64_t>, kBatch> doorbells = {};
  pair.prepare_accepted = [&doorbells](End& end) {
    end.leaves_unreported = true;
    end.on_message = [&doorbells](End& server, const End::Message& message) {
      const uint64_t before = ReadTransportCounters().doorbells;
      server.Reply(message.call_id, absl::Cord("the answer"));
      doorbells[message.call_id % kBatch] += ReadTransportCounters().doorbells - before;
    };
  };
  End* const client = pair.Connect();
  ASSERT_NE(client, nullptr) << pair.status();
  client->leaves_unreported = true;
  for (uint64_t round = 0; round < kRounds; ++round) {
    client->OnLoop([client, round](Connection&) {
      for (uint64_t i = 0; i < kBatch; ++i) client->Reply(round * kBatch + i, absl::Cord("a question"));
    });
    ASSERT_TRUE(client->WaitForMessages((round + 1) * kBatch));
  }
  // But where the batch came in two, or the client's loop rang meanwhile: now and then, often where a device is slow.
  EXPECT_GE(doorbells[kBatch / 2 - 1], kRounds / 5);
  EXPECT_LE(doorbells[0] + doorbells[1], kRounds / 2);
}

// The same of messages that are fetched, all of which have landed when the first is delivered.
TEST(AtOnce, HalfOfTheAnswersToFetchedMessagesHaveLeftBeforeTheOthersAreMade) {
  constexpr uint64_t kBatch = 8;
  constexpr uint64_t kRounds = 50;
  TransportPair pair;
  std::atomic<uint64_t> rang_between = 0;  // Two messages of a batch.
  uint64_t seen = 0, delivered = 0;        // The server's loop's.
  pair.prepare_accepted = [&](End& end) {
    end.on_message = [&](End& server, const End::Message& message) {
      if (delivered++ % kBatch != 0) rang_between += ReadTransportCounters().doorbells - seen;
      server.Reply(message.call_id, absl::Cord("the answer"));
      seen = ReadTransportCounters().doorbells;
    };
  };
  End* const client = pair.Connect();
  ASSERT_NE(client, nullptr) << pair.status();
  const absl::Cord question(std::string(20000, 'x'));
  for (uint64_t round = 0; round < kRounds; ++round) {
    client->OnLoop([client, round, &question](Connection&) {
      for (uint64_t i = 0; i < kBatch; ++i) client->Reply(round * kBatch + i, question);
    });
    ASSERT_TRUE(client->WaitForMessages((round + 1) * kBatch));
  }
  EXPECT_GE(rang_between, kRounds / 5);
}

// How many frames share a SEND with one in front of them when `rounds` batches of `batch` large messages are fetched,
// and answered or not.
uint64_t FramesPacked(uint64_t rounds, uint64_t batch, bool answered) {
  TransportPair pair;
  pair.prepare_accepted = [answered](End& end) {
    end.on_message = [answered](End& server, const End::Message& message) {
      if (answered) server.Reply(message.call_id, absl::Cord("the answer"));
    };
  };
  End* const client = pair.Connect();
  EXPECT_NE(client, nullptr) << pair.status();
  if (client == nullptr) return 0;
  const uint64_t before = ReadTransportCounters().frames_packed;
  const absl::Cord question(std::string(20000, 'x'));
  for (uint64_t round = 0; round < rounds; ++round) {
    client->OnLoop([&](Connection&) {
      for (uint64_t i = 0; i < batch; ++i) client->Reply(round * batch + i, question);
    });
    EXPECT_TRUE(client->WaitForSent((round + 1) * batch));  // All are finished.
    EXPECT_TRUE(!answered || client->WaitForMessages((round + 1) * batch));
  }
  return ReadTransportCounters().frames_packed - before;
}

// But for a batch that came apart now and then.
TEST(AtOnce, TheAnnouncementsOfABatchShareASend) {
  EXPECT_GE(FramesPacked(50, 8, /*answered=*/false), 50 * 7 * 9 / 10);
}

// 7 announcements, and an answer for each finish at least.
TEST(AtOnce, AFinishSharesItsSendWithTheAnswer) {
  EXPECT_GE(FramesPacked(50, 8, /*answered=*/true), 50 * (7 + 8) * 9 / 10);
}

}  // namespace
}  // namespace verbena::transport
