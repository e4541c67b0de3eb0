// How much of what has come one turn of a loop handles.

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <future>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "tests/integration/transport_pair.h"
#include "tests/integration/turns/hold_up.h"

namespace verbena::transport {
namespace {

constexpr uint64_t kMessagesOfEach = 40;  // As few SENDs as there are credits for at once.
constexpr size_t kConnections = 30;
// At most without a look at the clock: what the SENDs of one batch of completions carry.
constexpr uint64_t kHandledWithoutALook = 32 * 16;

class Turns : public testing::Test {
 protected:
  // `handle` is what is done for each message.
  void Start(std::function<void()> handle) {
    pair_.prepare_accepted = [this, handle = std::move(handle)](End& end) {
      end.keeps_payloads = false;
      end.on_message = [this, handle](End&, const End::Message&) {
        ++handled_;
        handle();
      };
    };
    for (size_t i = 0; i < kConnections; ++i) {
      clients_.push_back(pair_.Connect());
      ASSERT_NE(clients_.back(), nullptr) << pair_.status();
      clients_.back()->leaves_unreported = true;
    }
  }

  // Messages on all connections come while the server's loop is held up. Returns how many it handles in its next turn.
  uint64_t HandledInATurn() {
    HoldUp hold_up(pair_.accepted(0));
    const uint64_t before = handled_;
    std::promise<uint64_t> turn_over;
    hold_up.loop()->Post([&] { turn_over.set_value(handled_ - before); });  // It waits for the turn after that.
    for (End* client : clients_) SendFrom(client);
    for (End* client : clients_) client->OnLoop([](Connection&) {});  // The turns in which they were sent have ended.
    hold_up.Release();
    const uint64_t handled = turn_over.get_future().get();
    sent_ += kMessagesOfEach;
    for (size_t i = 0; i < kConnections; ++i) EXPECT_TRUE(pair_.accepted(i)->WaitForMessages(sent_));
    return handled;
  }

 private:
  static void SendFrom(End* client) {
    client->OnLoop([client](Connection&) {
      for (uint64_t i = 1; i <= kMessagesOfEach; ++i) client->Reply(i, absl::Cord("small"));
    });
  }

  std::atomic<uint64_t> handled_ = 0;
  uint64_t sent_ = 0;  // On each connection.
  TransportPair pair_{TestOptions(), WaitPolicy::kBusy};
  std::vector<End*> clients_;
};

// Most of what has come, if it is handled fast: then the answers to a peer share SENDs. Several tries, for the machine
// may be slow.
TEST_F(Turns, GoOnWhileTheyAreFast) {
  ASSERT_NO_FATAL_FAILURE(Start([] {}));
  uint64_t most = 0;
  for (int i = 0; i < 50 && most <= kHandledWithoutALook; ++i) most = std::max(most, HandledInATurn());
  EXPECT_GT(most, kHandledWithoutALook);
}

TEST_F(Turns, EndWhenTheyHaveTakenLong) {
  ASSERT_NO_FATAL_FAILURE(Start([] { absl::SleepFor(absl::Microseconds(20)); }));
  const uint64_t handled = HandledInATurn();
  EXPECT_GE(handled, kMessagesOfEach);
  EXPECT_LE(handled, kHandledWithoutALook);
}

}  // namespace
}  // namespace verbena::transport
