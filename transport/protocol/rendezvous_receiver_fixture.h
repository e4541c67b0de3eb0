// For tests: a receiver of large messages, with announcements of the peer and READs that complete as the test says.

#ifndef VERBENA_TRANSPORT_PROTOCOL_RENDEZVOUS_RECEIVER_FIXTURE_H_
#define VERBENA_TRANSPORT_PROTOCOL_RENDEZVOUS_RECEIVER_FIXTURE_H_

#include <optional>
#include <variant>
#include <vector>

#include "gtest/gtest.h"
#include "transport/protocol/frame_of.h"
#include "transport/protocol/rendezvous_receiver.h"

namespace verbena::protocol {

inline constexpr uint64_t kEpoch = 77;
inline constexpr uint32_t kChunk = 1000;

class RendezvousReceiverTest : public testing::Test {
 protected:
  // A fetch that is announced; in the second form, accepted.
  uint64_t Offered(uint32_t transfer, uint64_t payload_bytes, uint64_t call_id = 7) {
    EXPECT_TRUE(receiver_.OnAnnounce(AnnouncementOf(transfer, call_id, payload_bytes).view()).ok());
    return Next<AskVerdict>().fetch_id;
  }
  uint64_t Accepted(uint32_t transfer, uint64_t payload_bytes, uint64_t call_id = 7) {
    const uint64_t id = Offered(transfer, payload_bytes, call_id);
    receiver_.OnVerdict(id, Verdict::kFetch);
    return id;
  }
  // One of a call of its own.
  uint64_t AcceptedAlone(uint32_t transfer, uint64_t payload_bytes) {
    return Accepted(transfer, payload_bytes, /*call_id=*/100 + transfer);
  }
  // Whose landing is asked for next.
  uint64_t AskedFor() { return std::get<AllocateLanding>(*receiver_.NextAction()).fetch_id; }
  // The next READ, where there is memory for every landing.
  std::optional<PostRead> NextRead() {
    for (std::optional<Action> next = receiver_.NextAction(); next.has_value(); next = receiver_.NextAction()) {
      if (const auto* read = std::get_if<PostRead>(&*next)) return *read;
      receiver_.OnLanding(std::get<AllocateLanding>(*next).fetch_id);
    }
    return std::nullopt;
  }
  // The fetches of the next READs, each of which completes before the one after it is made.
  std::vector<uint64_t> ReadOneByOne(int reads) {
    std::vector<uint64_t> fetches;
    for (; reads > 0; --reads) {
      fetches.push_back(NextRead()->fetch_id);
      receiver_.OnReadCompleted(fetches.back(), true);
    }
    return fetches;
  }
  void ExpectFinish(uint32_t transfer, wire::FinishReason reason) {
    ASSERT_TRUE(receiver_.HasFinish());
    const wire::FrameHeader finish = receiver_.NextFinish();
    EXPECT_EQ(finish.aux, transfer);
    EXPECT_EQ(finish.message_kind, static_cast<uint8_t>(reason));
  }
  wire::FrameHeader WithdrawOf(uint32_t transfer, uint64_t call_id = 7) {
    wire::FrameHeader header = HeaderOf(wire::FrameType::kWithdraw);
    header.aux = transfer;
    header.call_id = call_id;
    return header;
  }
  template <typename T>
  T Next() {
    return std::get<T>(actions_.Pop());
  }

  ActionQueue actions_;
  RendezvousReceiver receiver_{
      {.message_bytes_max = 100000, .read_chunk_bytes = kChunk, .read_depth = 4}, kEpoch, &actions_};
};

}  // namespace verbena::protocol

#endif  // VERBENA_TRANSPORT_PROTOCOL_RENDEZVOUS_RECEIVER_FIXTURE_H_
