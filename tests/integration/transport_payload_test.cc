// Payloads on the device under test, both ends in one process: what is sent by reference, what is copied, and when the
// sender's memory is its own again. docs/payload.md states what is tested here.

#include <atomic>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "absl/synchronization/notification.h"
#include "gtest/gtest.h"
#include "tests/integration/transport_pair.h"
#include "transport/exported_payload.h"
#include "transport/gather_plan.h"
#include "transport/payload_memory.h"
#include "transport/registered_memory.h"
#include "transport/user_memory.h"

namespace verbena::transport {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(20);
constexpr size_t kLarge = 1 << 20;

uint64_t Copied() { return ReadTransportCounters().payload_bytes_copied; }

// Bytes that are no two alike nearby.
std::string Pattern(size_t size, size_t seed) {
  std::string bytes(size, '\0');
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i * 31 + (i >> 8) + seed);
  return bytes;
}

absl::Cord Allocated(absl::string_view bytes) {
  PayloadMemory memory = *AllocatePayload(bytes.size());
  std::memcpy(memory.data(), bytes.data(), bytes.size());
  return std::move(memory).ToCord();
}

// Memory of the test's, registered, with what became of it.
class Own {
 public:
  explicit Own(size_t size, size_t seed = 1) : bytes_(Pattern(size, seed)) {
    absl::StatusOr<RegisteredMemory> memory =
        RegisterMemory(bytes_.data(), bytes_.size(), [this] { deregistered_.Notify(); });
    EXPECT_TRUE(memory.ok()) << memory.status();
    if (memory.ok()) memory_ = *std::move(memory);
  }
  // Nothing of it is in use any more, or the test fails.
  ~Own() {
    DropHandle();
    EXPECT_TRUE(WaitForDeregistration());
  }

  const std::string& bytes() const { return bytes_; }
  absl::Cord ToCord(size_t offset, size_t size) {
    return *memory_.ToCord(offset, size, [this] { ++released_; });
  }
  absl::Cord ToCord() { return ToCord(0, bytes_.size()); }
  void DropHandle() { memory_ = RegisteredMemory(); }
  bool deregistered() const { return deregistered_.HasBeenNotified(); }
  bool WaitForDeregistration() { return deregistered_.WaitForNotificationWithTimeout(kPatience); }
  int released() const { return released_; }

 private:
  std::string bytes_;
  absl::Notification deregistered_;
  std::atomic<int> released_ = 0;
  RegisteredMemory memory_;
};

class Payloads : public testing::Test {
 protected:
  Payloads() : client_(pair_.Connect()) {
    EXPECT_NE(client_, nullptr) << pair_.status();
    server_ = pair_.accepted(0);
  }

  // What one message with this attachment, which arrives whole, has copied on both sides.
  uint64_t CopiedFor(const absl::Cord& attachment) {
    const uint64_t before = Copied();
    client_->Send(++calls_, attachment);
    EXPECT_TRUE(server_->WaitForMessages(calls_));
    EXPECT_TRUE(client_->WaitForSent(calls_));
    EXPECT_EQ(server_->messages().back().payload, attachment);
    return Copied() - before;
  }

  TransportPair pair_;
  End* const client_;
  End* server_;
  uint64_t calls_ = 0;
};

TEST_F(Payloads, AnEagerOneIsCopiedOnceOnEachSide) {
  Own own(1000);
  EXPECT_EQ(CopiedFor(absl::Cord(own.bytes())), 2000u);
  EXPECT_EQ(CopiedFor(own.ToCord()), 2000u);
}

TEST_F(Payloads, OrdinaryMemoryIsCopiedOnceByTheSender) {
  EXPECT_EQ(CopiedFor(absl::Cord(Pattern(kLarge, 1))), kLarge);
}

TEST_F(Payloads, PayloadMemoryIsNotCopied) { EXPECT_EQ(CopiedFor(Allocated(Pattern(kLarge, 1))), 0u); }

TEST_F(Payloads, WhatIsFetchedBeginsWithACacheLine) {
  CopiedFor(Allocated(Pattern(kLarge, 1)));
  const absl::Cord received = server_->messages().back().payload;
  ASSERT_TRUE(received.TryFlat().has_value());
  EXPECT_EQ(reinterpret_cast<uintptr_t>(received.TryFlat()->data()) % 64, 0u);
}

TEST_F(Payloads, RegisteredMemoryIsNotCopied) {
  Own own(kLarge);
  EXPECT_EQ(CopiedFor(own.ToCord()), 0u);
  EXPECT_EQ(CopiedFor(own.ToCord(12345, 54321)), 0u) << "any part of it";
  EXPECT_EQ(CopiedFor(own.ToCord().Subcord(1, kLarge - 2)), 0u);
}

TEST_F(Payloads, ACordOfOnesOwnIntoRegisteredMemoryIsNotCopiedEither) {
  Own own(kLarge);
  EXPECT_EQ(CopiedFor(absl::MakeCordFromExternal(own.bytes(), [] {})), 0u);
}

TEST_F(Payloads, PiecesOfManyKindsAreOneMessageAndOnlyTheOrdinaryAndTheSmallAreCopied) {
  Own own(kLarge);
  absl::Cord gathered = own.ToCord(0, 100000);
  gathered.Append(Allocated(Pattern(70000, 2)));
  gathered.Append(absl::Cord(Pattern(5000, 3)));
  gathered.Append(own.ToCord(200000, 300000));
  gathered.Append(own.ToCord(700000, kInPlaceBytesMin - 1));
  gathered.Append(own.ToCord(800000, kInPlaceBytesMin));
  EXPECT_EQ(CopiedFor(gathered), 5000 + kInPlaceBytesMin - 1);
}

TEST_F(Payloads, AsManyPiecesAsThereMayBeAreNotCopied) {
  Own own(kLarge * 2);
  absl::Cord gathered;
  for (size_t i = 0; i < ExportedPayload::kInPlaceMax; ++i) gathered.Append(own.ToCord(i * 50000, 40000));
  EXPECT_EQ(CopiedFor(gathered), 0u);
}

TEST_F(Payloads, OfMorePiecesThanThereMayBeTheSmallestAreCopied) {
  Own own(kLarge * 4);
  constexpr size_t kPieces = ExportedPayload::kInPlaceMax + 9;
  absl::Cord gathered;
  size_t smallest = 0;
  for (size_t i = 0; i < kPieces; ++i) {
    const size_t size = 20000 + (i * 7 % kPieces) * 1000;  // Each size once, in no order.
    gathered.Append(own.ToCord(i * 100000, size));
    if (size < 29000) smallest += size;
  }
  EXPECT_EQ(CopiedFor(gathered), smallest);
}

TEST_F(Payloads, TheSameBytesMayBeOnTheirWayManyTimesAtOnce) {
  Own own(kLarge);
  const uint64_t before = Copied();
  constexpr uint64_t kMessages = 50;
  const absl::Cord cord = own.ToCord();
  for (uint64_t i = 0; i < kMessages; ++i) client_->Send(i, cord);
  ASSERT_TRUE(server_->WaitForMessages(kMessages));
  for (const End::Message& message : server_->messages()) EXPECT_EQ(message.payload, own.bytes());
  EXPECT_EQ(Copied(), before);
}

TEST_F(Payloads, TheReleaserRunsOnceWhenThePeerHasFetched) {
  Own own(kLarge);
  client_->Send(1, own.ToCord());
  ASSERT_TRUE(server_->WaitForMessages(1));
  own.DropHandle();
  EXPECT_TRUE(own.WaitForDeregistration()) << "what the receiver keeps is its own memory";
  EXPECT_EQ(own.released(), 1);
  EXPECT_EQ(server_->messages().front().payload, own.bytes());
}

TEST_F(Payloads, AHandleThatGoesWhileMessagesAreOnTheirWayTakesNothingFromThem) {
  Own own(kLarge);
  for (uint64_t i = 0; i < 20; ++i) client_->Send(i, own.ToCord(i, kLarge - 20));
  own.DropHandle();
  ASSERT_TRUE(server_->WaitForMessages(20));
  for (const End::Message& message : server_->messages()) {
    EXPECT_EQ(message.payload, own.bytes().substr(message.call_id, kLarge - 20));
  }
  EXPECT_TRUE(own.WaitForDeregistration());
  EXPECT_EQ(own.released(), 20);
}

TEST_F(Payloads, WhatIsReceivedIsLentAndMayBeSentOnWithoutACopy) {
  Own own(kLarge);
  ASSERT_EQ(CopiedFor(own.ToCord()), 0u);
  const uint64_t before = Copied();
  server_->Send(1, server_->messages().front().payload);
  ASSERT_TRUE(client_->WaitForMessages(1));
  EXPECT_EQ(client_->messages().front().payload, own.bytes());
  EXPECT_EQ(Copied(), before);
}

TEST_F(Payloads, WhatIsKeptAfterTheConnectionIsStillThereAndWasNotCopied) {
  Own own(kLarge);
  ASSERT_EQ(CopiedFor(own.ToCord()), 0u);
  const uint64_t before = Copied();
  const absl::Cord kept = server_->messages().front().payload;
  pair_.Close();
  EXPECT_EQ(kept, own.bytes());
  EXPECT_EQ(Copied(), before);
}

// Nothing but the export knows of the registration then: a Cord of the user's own does not keep it.
TEST(PayloadEnds, WhatIsOnItsWayKeepsTheRegistration) {
  Own own(kLarge);
  TransportPair pair;
  absl::Notification announced;
  absl::Notification go_on;
  pair.prepare_accepted = [&](End& end) {
    end.on_announced = [&](const MessageHead&) {
      announced.Notify();
      go_on.WaitForNotificationWithTimeout(kPatience);
      return Verdict::kFetch;
    };
  };
  End* const client = pair.Connect();
  ASSERT_NE(client, nullptr) << pair.status();
  client->Send(1, absl::MakeCordFromExternal(own.bytes(), [] {}));
  ASSERT_TRUE(announced.WaitForNotificationWithTimeout(kPatience));
  own.DropHandle();
  EXPECT_FALSE(own.deregistered());
  go_on.Notify();
  ASSERT_TRUE(pair.accepted(0)->WaitForMessages(1));
  EXPECT_EQ(pair.accepted(0)->messages().front().payload, own.bytes());
  EXPECT_TRUE(own.WaitForDeregistration());
}

TEST(PayloadEnds, TheReleaserRunsOnceWhateverBecomesOfTheMessage) {
  Own refused(kLarge, 1);
  Own cancelled(kLarge, 2);
  Own dropped(kLarge, 3);
  {
    TransportPair pair;
    pair.prepare_accepted = [](End& end) {
      end.on_announced = [](const MessageHead& head) { return head.call_id == 1 ? Verdict::kRefuse : Verdict::kFetch; };
    };
    End* const client = pair.Connect();
    ASSERT_NE(client, nullptr) << pair.status();
    client->Send(1, refused.ToCord());
    ASSERT_TRUE(client->WaitForSent(1));
    refused.DropHandle();
    EXPECT_TRUE(refused.WaitForDeregistration());
    const uint64_t id = client->Send(2, cancelled.ToCord());
    client->OnLoop([id](Connection& connection) { connection.CancelSend(id); });
    ASSERT_TRUE(client->WaitForSent(2));
    for (uint64_t i = 0; i < 40; ++i) client->Send(3 + i, dropped.ToCord());
    client->Destroy();
  }
  for (Own* own : {&refused, &cancelled, &dropped}) {
    own->DropHandle();
    EXPECT_TRUE(own->WaitForDeregistration());
  }
  EXPECT_EQ(refused.released(), 1);
  EXPECT_EQ(cancelled.released(), 1);
  EXPECT_EQ(dropped.released(), 40);
}

TEST(PayloadEnds, ThreadsRegisterOnADeviceInUseAndLetGo) {
  TransportPair pair;
  ASSERT_NE(pair.Connect(), nullptr) << pair.status();
  constexpr size_t kThreads = 4;
  constexpr int kRounds = 300;
  constexpr size_t kBytes = 100000;
  std::string bytes(kThreads * kBytes, 'x');
  std::atomic<int> released = 0;
  std::atomic<int> deregistered = 0;
  std::vector<std::thread> threads;
  for (size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, data = bytes.data() + t * kBytes] {
      for (int i = 0; i < kRounds; ++i) {
        absl::StatusOr<RegisteredMemory> memory = RegisterMemory(data, kBytes, [&] { ++deregistered; });
        ASSERT_TRUE(memory.ok()) << memory.status();
        absl::Cord cord = *memory->ToCord(0, kBytes, [&] { ++released; });
        std::thread other([found = UserMemory::Find(data, 1), copy = cord]() mutable { copy.Clear(); });
        cord.Clear();
        *memory = RegisteredMemory();
        other.join();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(released, static_cast<int>(kThreads) * kRounds);
  EXPECT_EQ(deregistered, static_cast<int>(kThreads) * kRounds);
}

}  // namespace
}  // namespace verbena::transport
