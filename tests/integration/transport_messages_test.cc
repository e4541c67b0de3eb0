// Messages on the device under test, both ends in one process: what arrives is what was sent, whatever its size.

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/integration/device_under_test.h"
#include "tests/integration/transport_pair.h"
#include "transport/address.h"
#include "transport/device_context.h"
#include "transport/device_selection.h"
#include "transport/payload_memory.h"
#include "transport/poll_group.h"
#include "transport/verbs/cm_event_channel.h"
#include "transport/verbs/connection_id.h"
#include "transport/wire/frame_header.h"

namespace verbena::transport {
namespace {

std::string RandomBytes(size_t size, uint32_t seed) {
  std::mt19937 random(seed);
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  return bytes;
}

absl::Cord PayloadCord(absl::string_view bytes) {
  PayloadMemory memory = *AllocatePayload(bytes.size());
  std::memcpy(memory.data(), bytes.data(), bytes.size());
  return std::move(memory).ToCord();
}

class MessagesWithPolicy : public testing::TestWithParam<WaitPolicy> {};

TEST_P(MessagesWithPolicy, EverySizeArrivesAsItWasSent) {
  TransportPair pair(TestOptions(), GetParam());
  End* const client = pair.Connect();
  ASSERT_NE(client, nullptr) << pair.status();
  const size_t longest_eager = TestOptions().receive_buffer_bytes - wire::kFrameHeaderBytes - std::strlen("call N");
  const std::vector<size_t> sizes = {0,     1,       64,           4096, 8000, 8192, longest_eager, longest_eager + 1,
                                     65536, 1 << 20, (5 << 20) + 3};
  for (size_t i = 0; i < sizes.size(); ++i) {
    client->Send(i + 1, absl::Cord(RandomBytes(sizes[i], 7)), absl::StrCat("call ", i));
  }
  End* const server = pair.accepted(0);
  ASSERT_NE(server, nullptr);
  ASSERT_TRUE(server->WaitForMessages(sizes.size()));
  ASSERT_TRUE(client->WaitForSent(sizes.size()));
  for (const End::Message& message : server->messages()) {
    const size_t index = message.call_id - 1;
    EXPECT_EQ(message.header, absl::StrCat("call ", index));
    EXPECT_EQ(message.payload, RandomBytes(sizes[index], 7));
  }
  for (const auto& [id, outcome] : client->sent()) EXPECT_EQ(outcome, SendOutcome::kDelivered) << id;
}

TEST(Messages, ReadsAreNoLongerThanTheDeviceTakes) {
  TransportOptions options = TestOptions();
  options.read_chunk_bytes = 1 << 30;  // Past what rxe takes.
  TransportPair pair(options);
  End* const client = pair.Connect();
  ASSERT_NE(client, nullptr) << pair.status();
  const std::string bytes = RandomBytes(20 << 20, 8);
  client->Send(1, absl::Cord(bytes));
  End* const server = pair.accepted(0);
  ASSERT_NE(server, nullptr);
  ASSERT_TRUE(server->WaitForMessages(1));
  EXPECT_EQ(server->messages().front().payload, bytes);
}

INSTANTIATE_TEST_SUITE_P(Policies, MessagesWithPolicy,
                         testing::Values(WaitPolicy::kBusy, WaitPolicy::kEvent, WaitPolicy::kAdaptive));

TEST(Messages, AnEchoOfThousandsBothWaysLosesAndDoublesNothing) {
  TransportPair pair;
  pair.prepare_accepted = [](End& end) {
    end.on_message = [](End& self, const End::Message& message) {
      // On the loop already: answer at once.
      self.Reply(message.call_id, message.payload);
    };
  };
  End* const client = pair.Connect();
  ASSERT_NE(client, nullptr) << pair.status();
  constexpr size_t kCalls = 3000;
  for (size_t i = 0; i < kCalls; ++i) client->Send(i, absl::Cord(std::string(i % 3 == 0 ? 20000 : i % 700, 'x')));
  ASSERT_TRUE(client->WaitForMessages(kCalls));
  std::vector<int> seen(kCalls);
  for (const End::Message& message : client->messages()) ++seen[message.call_id];
  for (size_t i = 0; i < kCalls; ++i) EXPECT_EQ(seen[i], 1) << i;
}

TEST(Messages, SmallOnesArriveInOrderOfSending) {
  TransportPair pair;
  End* const client = pair.Connect();
  ASSERT_NE(client, nullptr) << pair.status();
  for (uint64_t i = 0; i < 1000; ++i) client->Send(i, absl::Cord("small"));
  ASSERT_TRUE(pair.accepted(0)->WaitForMessages(1000));
  uint64_t next = 0;
  for (const End::Message& message : pair.accepted(0)->messages()) EXPECT_EQ(message.call_id, next++);
}

TEST(Messages, SmallOnesThatAreSentTogetherShareSends) {
  TransportPair pair;
  End* const client = pair.Connect();
  ASSERT_NE(client, nullptr) << pair.status();
  constexpr uint64_t kMessages = 100;
  const uint64_t packed_before = ReadTransportCounters().frames_packed;
  client->OnLoop([client](Connection&) {
    for (uint64_t i = 0; i < kMessages; ++i) client->Reply(i, absl::Cord(std::string(i % 100, 'x')));
  });
  ASSERT_TRUE(pair.accepted(0)->WaitForMessages(kMessages));
  uint64_t next = 0;
  for (const End::Message& message : pair.accepted(0)->messages()) {
    EXPECT_EQ(message.call_id, next);
    EXPECT_EQ(message.payload.size(), next % 100);
    ++next;
  }
  ASSERT_TRUE(client->WaitForSent(kMessages));
  for (const auto& [id, outcome] : client->sent()) EXPECT_EQ(outcome, SendOutcome::kDelivered) << id;
  EXPECT_GE(ReadTransportCounters().frames_packed - packed_before, kMessages / 2);
}

TEST(Messages, ASendOfSeveralFitsTheSmallestBuffers) {
  TransportOptions options = TestOptions();
  options.receive_buffer_bytes = 512;
  TransportPair pair(options);
  End* const client = pair.Connect();
  ASSERT_NE(client, nullptr) << pair.status();
  client->OnLoop([client](Connection&) {
    for (uint64_t i = 0; i < 100; ++i) client->Reply(i, absl::Cord(std::string(i, 'x')));
  });
  ASSERT_TRUE(pair.accepted(0)->WaitForMessages(100));
  uint64_t next = 0;
  for (const End::Message& message : pair.accepted(0)->messages()) EXPECT_EQ(message.call_id, next++);
}

TEST(Messages, LargeOnesShareNoSend) {
  TransportPair pair;
  End* const client = pair.Connect();
  ASSERT_NE(client, nullptr) << pair.status();
  const uint64_t packed_before = ReadTransportCounters().frames_packed;
  client->OnLoop([client](Connection&) {
    for (uint64_t i = 0; i < 10; ++i) client->Reply(i, absl::Cord(std::string(4096, 'x')));
  });
  ASSERT_TRUE(pair.accepted(0)->WaitForMessages(10));
  EXPECT_EQ(ReadTransportCounters().frames_packed, packed_before);
}

TEST(Messages, PayloadMemoryCrossesWithoutACopyOnEitherSide) {
  TransportPair pair;
  End* const client = pair.Connect();
  ASSERT_NE(client, nullptr) << pair.status();
  const std::string bytes = RandomBytes(3 << 20, 1);
  absl::Cord cord = PayloadCord(bytes);
  cord.Append("and a tail that is copied");
  cord.Append(PayloadCord(bytes));
  client->Send(1, cord);
  ASSERT_TRUE(pair.accepted(0)->WaitForMessages(1));
  EXPECT_EQ(pair.accepted(0)->messages()[0].payload, absl::StrCat(bytes, "and a tail that is copied", bytes));
}

// The device as this process sees it, or null.
std::shared_ptr<DeviceContext> OurDevice() {
  const Address address = *ParseAddress(integration::AddressUnderTest());
  const verbs::VerbsApi& api = *SelectDevices(address, "")->front().api;
  absl::StatusOr<verbs::CmEventChannel> channel = verbs::CmEventChannel::Create(api);
  absl::StatusOr<verbs::ConnectionId> id = verbs::ConnectionId::Create(*channel);
  const sockaddr_storage host = ResolveHost(address)->front();
  if (!id->Bind(reinterpret_cast<const sockaddr*>(&host)).ok()) return nullptr;
  return DeviceContext::For(*id).value_or(nullptr);
}

bool HasWindows() {
  const std::shared_ptr<DeviceContext> device = OurDevice();
  return device != nullptr && device->has_windows();
}

bool IsIwarp() {
  const std::shared_ptr<DeviceContext> device = OurDevice();
  return device != nullptr && device->device().is_iwarp();
}

// One way, each time when both ends sleep. The receiver wakes for each; its grants are few.
TEST(Waking, ASleepingSenderDoesNotWakeForItsOwnSends) {
  if (IsIwarp()) GTEST_SKIP() << "raises no event for what is solicited only";
  TransportPair pair;
  End* const client = pair.Connect();
  ASSERT_NE(client, nullptr) << pair.status();
  client->awaits_sends = false;
  constexpr uint64_t kMessages = 100;
  const uint64_t events_before = ReadTransportCounters().completion_events;
  for (uint64_t i = 0; i < kMessages; ++i) {
    client->Send(i, absl::Cord("one way"));
    ASSERT_TRUE(pair.accepted(0)->WaitForMessages(i + 1));
    absl::SleepFor(absl::Milliseconds(1));
  }
  const uint64_t events = ReadTransportCounters().completion_events - events_before;
  EXPECT_GT(events, 0u);  // It is counted at all: a slow machine may find much without sleeping.
  EXPECT_LE(events, kMessages * 3 / 2);
  ASSERT_TRUE(client->WaitForSent(kMessages));
}

// The send queue several times over.
TEST(Waking, SendsThatNobodyAwaitsArriveAndAreReportedAll) {
  TransportPair pair;
  End* const client = pair.Connect();
  ASSERT_NE(client, nullptr) << pair.status();
  client->awaits_sends = false;
  constexpr uint64_t kMessages = 2000;
  client->OnLoop([client](Connection&) {
    for (uint64_t i = 0; i < kMessages; ++i) client->Reply(i, absl::Cord(std::string(4096, 'x')));
  });
  ASSERT_TRUE(pair.accepted(0)->WaitForMessages(kMessages));
  ASSERT_TRUE(client->WaitForSent(kMessages));
  for (const auto& [id, outcome] : client->sent()) EXPECT_EQ(outcome, SendOutcome::kDelivered) << id;
}

// By a loop that has found that waking for its own sends does not pay.
TEST(Waking, AnAwaitedSendIsReportedLongBeforeOthers) {
  if (IsIwarp()) GTEST_SKIP() << "raises no event for what is solicited only, so that loops wake for all";
  TransportPair pair;
  End* const client = pair.Connect();
  ASSERT_NE(client, nullptr) << pair.status();
  uint64_t sent = 0;
  const auto median_time = [&](bool awaited, size_t count) {
    client->awaits_sends = awaited;
    std::vector<absl::Duration> took;
    for (size_t i = 0; i < count; ++i) {
      absl::SleepFor(absl::Milliseconds(2));  // Both ends sleep.
      const absl::Time begin = absl::Now();
      client->Send(sent++, absl::Cord("one way"));
      EXPECT_TRUE(client->WaitForSent(sent));
      took.push_back(absl::Now() - begin);
    }
    std::nth_element(took.begin(), took.begin() + count / 2, took.end());
    return took[count / 2];
  };
  median_time(false, 10);  // It finds out.
  const absl::Duration others = median_time(false, 11);
  if (others < PollGroup::kSweepInterval / 2) GTEST_SKIP() << "the peer takes messages before this end sleeps";
  EXPECT_LT(median_time(true, 21), others / 2);
}

// Windows on blocks that are registered already: what a message costs is work requests, not calls of the device.
TEST(Messages, OnceWarmLargeOnesRegisterNothing) {
  if (!HasWindows()) GTEST_SKIP() << "a device without memory windows registers each message";
  TransportPair pair;
  pair.prepare_accepted = [](End& end) { end.keeps_payloads = false; };
  End* const client = pair.Connect();
  ASSERT_NE(client, nullptr) << pair.status();
  uint64_t warm = 0;
  constexpr uint64_t kMessages = 100;
  constexpr uint64_t kWarmingUp = 20;
  for (uint64_t i = 0; i < kMessages; ++i) {
    client->Send(i, absl::Cord(std::string(100000, 'x')));
    ASSERT_TRUE(client->WaitForSent(i + 1));
    if (i + 1 == kWarmingUp) warm = ReadTransportCounters().registrations;
  }
  // A block may still be under way when the next message takes one.
  EXPECT_LT(ReadTransportCounters().registrations - warm, 5u);
}

TEST(Messages, AnAttachmentOfManyPiecesArrivesWhole) {
  TransportPair pair;
  End* const client = pair.Connect();
  ASSERT_NE(client, nullptr) << pair.status();
  absl::Cord cord;
  std::string all;
  for (int i = 0; i < 200; ++i) {
    const std::string piece = RandomBytes(17000 + i, i);
    cord.Append(PayloadCord(piece));
    all += piece;
  }
  client->Send(1, cord);
  ASSERT_TRUE(pair.accepted(0)->WaitForMessages(1));
  EXPECT_EQ(pair.accepted(0)->messages()[0].payload, all);
}

TEST(Messages, WithChecksumsTheyArriveTheSame) {
  TransportOptions options = TestOptions();
  options.checksum_payloads = true;
  TransportPair pair(options);
  End* const client = pair.Connect();
  ASSERT_NE(client, nullptr) << pair.status();
  const std::string bytes = RandomBytes(2 << 20, 3);
  client->Send(1, absl::Cord(bytes));
  ASSERT_TRUE(pair.accepted(0)->WaitForMessages(1));
  EXPECT_EQ(pair.accepted(0)->messages()[0].payload, bytes);
}

TEST(Messages, OneLargerThanTheFetchBudgetStillArrives) {
  TransportOptions options = TestOptions();
  options.fetch_bytes_max = 1 << 20;
  options.export_bytes_max = 1 << 20;
  TransportPair pair(options);
  pair.prepare_accepted = [](End& end) { end.keeps_payloads = false; };
  End* const client = pair.Connect();
  ASSERT_NE(client, nullptr) << pair.status();
  for (uint64_t i = 0; i < 5; ++i) client->Send(i, absl::Cord(RandomBytes(4 << 20, i)));
  ASSERT_TRUE(pair.accepted(0)->WaitForMessages(5));
}

// Room for one message of kMost, not for two.
constexpr size_t kFetchBytesMax = 1 << 20;
constexpr size_t kMost = 700000;

TEST(Messages, WhatTheProgramKeepsCountsUntilItIsDroppedAndThenTheNextIsFetched) {
  TransportOptions options = TestOptions();
  options.fetch_bytes_max = kFetchBytesMax;
  TransportPair pair(options);
  End* const client = pair.Connect();
  ASSERT_NE(client, nullptr) << pair.status();
  for (uint64_t i = 0; i < 2; ++i) client->Send(i, absl::Cord(RandomBytes(kMost, i)));
  End* const server = pair.accepted(0);
  ASSERT_TRUE(server->WaitForMessages(1));
  client->Send(2, absl::Cord("small ones pass"));
  ASSERT_TRUE(server->WaitForMessages(2));
  EXPECT_EQ(server->messages()[1].call_id, 2u);
  EXPECT_GE(ReadTransportCounters().landing_bytes, kMost);
  server->DropPayloads();
  ASSERT_TRUE(server->WaitForMessages(3));
  server->DropPayloads();
  client->Send(3, absl::Cord(RandomBytes(kMost, 3)));
  ASSERT_TRUE(server->WaitForMessages(4));
}

TEST(Messages, OneThatWaitsTooLongForWhatTheProgramKeepsIsRefused) {
  TransportOptions options = TestOptions();
  options.fetch_bytes_max = kFetchBytesMax;
  options.memory_wait_timeout = absl::Milliseconds(100);
  TransportPair pair(options);
  End* const client = pair.Connect();
  ASSERT_NE(client, nullptr) << pair.status();
  for (uint64_t i = 0; i < 2; ++i) client->Send(i, absl::Cord(RandomBytes(kMost, i)));
  ASSERT_TRUE(client->WaitForSent(2));
  EXPECT_EQ(client->sent()[0], std::pair(uint64_t{0}, SendOutcome::kDelivered));
  EXPECT_EQ(client->sent()[1], std::pair(uint64_t{1}, SendOutcome::kRefused));
  pair.accepted(0)->DropPayloads();
}

TEST(Messages, ARefusedAnnouncementIsReportedToItsSenderUnfetched) {
  TransportPair pair;
  pair.prepare_accepted = [](End& end) { end.on_announced = [](const MessageHead&) { return Verdict::kRefuse; }; };
  End* const client = pair.Connect();
  ASSERT_NE(client, nullptr) << pair.status();
  const uint64_t reads_before = ReadTransportCounters().reads;
  client->Send(1, absl::Cord(std::string(1 << 20, 'x')));
  ASSERT_TRUE(client->WaitForSent(1));
  EXPECT_EQ(client->sent()[0].second, SendOutcome::kRefused);
  EXPECT_EQ(ReadTransportCounters().reads, reads_before);
}

TEST(Messages, OnePastTheLimitIsNotSentAndTheConnectionLives) {
  TransportOptions options = TestOptions();
  options.message_bytes_max = 1 << 20;
  TransportPair pair(options);
  End* const client = pair.Connect();
  ASSERT_NE(client, nullptr) << pair.status();
  client->Send(1, absl::Cord(std::string((1 << 20) + 1, 'x')));
  client->Send(2, absl::Cord("fits"));
  ASSERT_TRUE(client->WaitForSent(2));
  EXPECT_EQ(client->sent()[0], std::pair(uint64_t{1}, SendOutcome::kNotSent));
  EXPECT_EQ(client->sent()[1], std::pair(uint64_t{2}, SendOutcome::kDelivered));
}

}  // namespace
}  // namespace verbena::transport
