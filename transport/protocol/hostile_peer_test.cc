// A peer that sends whatever decodes: random frames against a machine that sends and fetches. Whatever it does, the
// connection ends or goes on, every Send and every fetch has one end, and the budget gets everything back.

#include <cstdint>
#include <map>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "transport/protocol/machine_fixture.h"

namespace verbena::protocol {
namespace {

class HostilePeerTest : public MachineFixture {
 protected:
  using Random = std::minstd_rand;

  static uint32_t Below(Random& random, uint32_t bound) { return static_cast<uint32_t>(random() % bound); }

  // Small numbers, so that ids and transfers are often those of somebody.
  static FrameOf RandomFrame(Random& random) {
    wire::FrameHeader header = HeaderOf(static_cast<wire::FrameType>(1 + Below(random, 12)));
    header.credit_grant = static_cast<uint16_t>(Below(random, 50) == 0 ? 0xffff : Below(random, 3));
    const uint32_t transfer = Below(random, 4) | (1 + Below(random, 2)) << 16;
    const uint32_t call_id = 1 + Below(random, 2);
    switch (header.type) {
      case wire::FrameType::kAnnounce:
        return AnnouncementOf(transfer, call_id, Below(random, 5000));
      case wire::FrameType::kFinish:
        header.message_kind = static_cast<uint8_t>(Below(random, 5));
        [[fallthrough]];
      case wire::FrameType::kWithdraw:
        header.aux = transfer;
        header.call_id = call_id;
        break;
      case wire::FrameType::kReturn:
        header.aux = Below(random, 3);
        break;
      case wire::FrameType::kGoodbye:
        header.aux = Below(random, 6);
        break;
      case wire::FrameType::kAuthenticate:
        header.aux = Below(random, 2);
        break;
      case wire::FrameType::kEager:
      case wire::FrameType::kGrant:
      case wire::FrameType::kReclaim:
      case wire::FrameType::kPing:
      case wire::FrameType::kPong:
      case wire::FrameType::kDrain:
        break;
    }
    return FrameOf(header);
  }

  // Answers what is asked, at random; counts what ends.
  void Answer(Random& random) {
    Collect();
    std::vector<Action> actions;
    actions.swap(actions_);
    for (const Action& action : actions) {
      if (const auto* sent = std::get_if<Sent>(&action)) ++ends_[sent->send_id];
      if (const auto* failed = std::get_if<FetchFailed>(&action)) ++fetch_ends_[failed->fetch_id];
      if (const auto* delivered = std::get_if<Deliver>(&action)) ++fetch_ends_[delivered->fetch_id];
      if (const auto* read = std::get_if<PostRead>(&action)) machine_->OnReadCompleted(read->fetch_id, true);
      if (const auto* landing = std::get_if<AllocateLanding>(&action)) machine_->OnLanding(landing->fetch_id);
      if (const auto* check = std::get_if<CheckIdentity>(&action)) machine_->OnIdentity(check->fetch_id, true);
      if (const auto* ask = std::get_if<AskVerdict>(&action)) {
        fetch_ends_[ask->fetch_id] = 0;
        machine_->OnVerdict(ask->fetch_id, Below(random, 2) == 0 ? Verdict::kFetch : Verdict::kFetchInParts);
      }
      if (const auto* wanted = std::get_if<Export>(&action)) {
        if (Below(random, 4) == 0) continue;  // Still waiting for memory.
        machine_->OnExported(wanted->send_id, std::vector<wire::Segment>{{4096, 5032, 9}});
      }
    }
  }

  void RunAgainst(uint32_t seed) {
    Random random(seed);
    Restart(/*peer_credits=*/4);
    ends_.clear();
    fetch_ends_.clear();
    actions_.clear();
    for (int step = 0; step < 60; ++step) {
      const uint64_t id =
          machine_->Send({.call_id = 1 + Below(random, 2), .payload_bytes = Below(random, 2) == 0 ? 64u : 5000u});
      ends_.emplace(id, 0);
      if (Below(random, 6) == 0) machine_->CancelSend(id, now_);
      if (Below(random, 10) == 0) machine_->CancelFetch(1);
      Receive(RandomFrame(random));
      Answer(random);
      machine_->OnSendCompleted(static_cast<uint32_t>(machine_->sends_in_flight()), now_);
    }
    machine_->OnDisconnected(absl::UnavailableError("the end of the test"));
    while (!machine_->idle()) Answer(random);
    Answer(random);
  }

  std::map<uint64_t, int> ends_;
  std::map<uint64_t, int> fetch_ends_;
};

TEST_F(HostilePeerTest, LeavesNothingBehind) {
  for (uint32_t seed = 1; seed <= 3000; ++seed) {
    RunAgainst(seed);
    for (const auto& [id, count] : ends_) ASSERT_EQ(count, 1) << "send " << id << ", seed " << seed;
    for (const auto& [id, count] : fetch_ends_) ASSERT_EQ(count, 1) << "fetch " << id << ", seed " << seed;
    ASSERT_TRUE(machine_->closed());
    ASSERT_EQ(budget_.outstanding(), 0u) << "seed " << seed;
    ASSERT_EQ(budget_.posted(), kReceives) << "seed " << seed;
  }
}

}  // namespace
}  // namespace verbena::protocol
