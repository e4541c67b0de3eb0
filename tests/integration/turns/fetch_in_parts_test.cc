// A message that is fetched in parts: what is seen of it while the rest is fetched, and what becomes of that.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <future>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/cord.h"
#include "gtest/gtest.h"
#include "tests/integration/transport_pair.h"
#include "tests/integration/wait_until.h"
#include "transport/endpoint.h"
#include "transport/payload_memory.h"

namespace verbena::transport {
namespace {

constexpr size_t kChunkBytes = 256 << 10;
constexpr size_t kChunks = 16;

// Of which no chunk is like another.
std::string MessageBytes(char first) {
  std::string bytes;
  for (size_t chunk = 0; chunk < kChunks; ++chunk) bytes += std::string(kChunkBytes, static_cast<char>(first + chunk));
  return bytes;
}

class FetchInParts : public testing::Test {
 protected:
  // What the accepted end does with each part.
  using Part = std::function<void(Connection&, const MessageHead&, ReceivedPayload&)>;

  bool Connect(TransportOptions options, Part on_part) {
    options.read_chunk_bytes = kChunkBytes;
    pair_.emplace(options);
    pair_->prepare_accepted = [on_part = std::move(on_part)](End& end) {
      end.on_announced = [](const MessageHead&) { return Verdict::kFetchInParts; };
      end.on_part = on_part;
    };
    client_ = pair_->Connect();
    return client_ != nullptr;
  }
  End& server() { return *pair_->accepted(0); }

  std::optional<TransportPair> pair_;
  End* client_ = nullptr;
};

TEST_F(FetchInParts, EachPartHasWhatWasThereBeforeAndMore) {
  const std::string sent = MessageBytes('a');
  std::vector<size_t> lengths;
  ASSERT_TRUE(Connect(TestOptions(), [&](Connection&, const MessageHead& head, ReceivedPayload& landed) {
    lengths.push_back(landed.bytes().size());
    EXPECT_EQ(head.payload_bytes, sent.size());
    EXPECT_EQ(std::string_view(reinterpret_cast<const char*>(landed.bytes().data()), landed.bytes().size()),
              std::string_view(sent).substr(0, landed.bytes().size()));
  }));
  client_->Send(1, absl::Cord(sent));
  ASSERT_TRUE(server().WaitForMessages(1));
  EXPECT_EQ(server().messages()[0].payload, sent);
  EXPECT_EQ(server().messages()[0].header, "head");
  EXPECT_EQ(lengths.size(), kChunks + 1) << "a READ for each chunk, and one for the bytes of the identity";
  for (size_t i = 1; i < lengths.size(); ++i) EXPECT_LT(lengths[i - 1], lengths[i]);
  ASSERT_TRUE(client_->WaitForSent(1));
  EXPECT_EQ(client_->sent()[0].second, SendOutcome::kDelivered);
  pair_->Close();
}

TEST_F(FetchInParts, WhatWasSharedOfOneThatIsCancelledStaysAndCountsAsLent) {
  TransportOptions options = TestOptions();
  options.fetch_bytes_max = 3 * kChunks * kChunkBytes / 2;  // For one message.
  options.memory_wait_timeout = absl::InfiniteDuration();
  absl::Cord kept;  // The loop's, until the fetch has failed.
  ASSERT_TRUE(Connect(options, [&](Connection& connection, const MessageHead& head, ReceivedPayload& landed) {
    if (head.call_id != 1 || !kept.empty()) return;
    kept = landed.Share(0);
    connection.CancelFetch(1);
  }));
  client_->Send(1, absl::Cord(MessageBytes('a')));
  ASSERT_TRUE(client_->WaitForSent(1));
  EXPECT_EQ(client_->sent()[0].second, SendOutcome::kDelivered) << "as much as was wanted";
  ASSERT_EQ(server().failed_fetches().size(), 1u);
  ASSERT_GT(kept.size(), 0u);
  ASSERT_LT(kept.size(), kChunks * kChunkBytes);

  client_->Send(2, absl::Cord(MessageBytes('A')));  // There is no memory for it.
  server().OnLoop([](Connection&) {});
  client_->OnLoop([](Connection&) {});
  EXPECT_TRUE(server().messages().empty());
  EXPECT_EQ(kept, absl::string_view(MessageBytes('a')).substr(0, kept.size()));
  kept.Clear();
  ASSERT_TRUE(server().WaitForMessages(1));
  EXPECT_EQ(server().messages()[0].payload, MessageBytes('A'));
  server().DropPayloads();
  pair_->Close();
}

TEST_F(FetchInParts, ThatNobodyKeepsTheNextHaveTheMemory) {
  TransportOptions options = TestOptions();
  options.fetch_bytes_max = 3 * kChunks * kChunkBytes / 2;
  options.memory_wait_timeout = absl::InfiniteDuration();
  uint64_t cancelled = 0;
  ASSERT_TRUE(Connect(options, [&](Connection& connection, const MessageHead& head, ReceivedPayload& landed) {
    if (head.call_id % 3 == 0) {
      EXPECT_GT(landed.Share(0).size(), 0u);  // And dropped.
    }
    if (head.call_id % 4 == 0) connection.CancelFetch(head.call_id);
    if (head.call_id % 4 == 0 && cancelled < head.call_id) cancelled = head.call_id;
  }));
  pair_->accepted(0)->keeps_payloads = false;
  constexpr size_t kMessages = 24;
  for (size_t i = 1; i <= kMessages; ++i) client_->Send(i, absl::Cord(MessageBytes('a')));
  EXPECT_TRUE(client_->WaitForSent(kMessages));
  EXPECT_EQ(server().failed_fetches().size(), kMessages / 4);
  EXPECT_EQ(server().messages().size(), kMessages - kMessages / 4);
  EXPECT_EQ(cancelled, kMessages);
  pair_->Close();
}

TEST_F(FetchInParts, ThatItsSenderWithdrawsFails) {
  std::promise<uint64_t> send_id;
  bool began = false;
  ASSERT_TRUE(Connect(TestOptions(), [&](Connection&, const MessageHead&, ReceivedPayload&) {
    if (std::exchange(began, true)) return;
    client_->OnLoop([id = send_id.get_future().get()](Connection& connection) { connection.CancelSend(id); });
    client_->OnLoop([](Connection&) {});  // The turn in which that was has ended: the withdrawal is under way.
  }));
  send_id.set_value(client_->Send(1, absl::Cord(MessageBytes('a'))));
  ASSERT_TRUE(client_->WaitForSent(1));
  EXPECT_EQ(client_->sent()[0].second, SendOutcome::kUnknown);
  ASSERT_TRUE(WaitUntil([&] { return !server().failed_fetches().empty(); }, End::kPatience));
  ASSERT_EQ(server().failed_fetches().size(), 1u);
  EXPECT_EQ(server().failed_fetches()[0].code(), absl::StatusCode::kCancelled);
  EXPECT_TRUE(server().messages().empty());
}

// Its parts were told: what has been done with them is done, and its sender hears that it was fetched.
TEST_F(FetchInParts, ThatChangesMeanwhileFailsInTheEndWhereChecksumsAreWanted) {
  TransportOptions options = TestOptions();
  options.checksum_payloads = true;
  PayloadMemory memory = *AllocatePayload(kChunks * kChunkBytes);
  std::memset(memory.data(), 'a', memory.size());
  std::byte* const last = memory.data() + memory.size() - 1;
  size_t parts = 0;
  ASSERT_TRUE(Connect(options, [&](Connection&, const MessageHead&, ReceivedPayload&) {
    if (++parts == 1) *last = std::byte{'b'};
  }));
  client_->Send(1, (std::move(memory)).ToCord());
  ASSERT_TRUE(client_->WaitForSent(1));
  EXPECT_EQ(client_->sent()[0].second, SendOutcome::kDelivered);
  ASSERT_EQ(server().failed_fetches().size(), 1u);
  EXPECT_EQ(server().failed_fetches()[0].code(), absl::StatusCode::kDataLoss) << server().failed_fetches()[0];
  EXPECT_TRUE(server().messages().empty());
  EXPECT_GE(parts, kChunks - 1);

  client_->Send(2, absl::Cord(MessageBytes('a')));  // Nothing else has come to harm.
  ASSERT_TRUE(server().WaitForMessages(1));
  EXPECT_EQ(server().messages()[0].payload, MessageBytes('a'));
  pair_->Close();
}

TEST_F(FetchInParts, WhoseConnectionEndsFails) {
  ASSERT_TRUE(Connect(TestOptions(), [&](Connection& connection, const MessageHead&, ReceivedPayload&) {
    connection.Abort(absl::UnavailableError("enough"));
  }));
  client_->Send(1, absl::Cord(MessageBytes('a')));
  ASSERT_TRUE(server().WaitForClosed());
  ASSERT_EQ(server().failed_fetches().size(), 1u);
  EXPECT_TRUE(server().messages().empty());
}

}  // namespace
}  // namespace verbena::transport
