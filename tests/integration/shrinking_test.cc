// Frame buffers that hundreds of connections needed are given back when these have ended, on the device under test. No
// large payload is sent in this process: what is pinned is frame buffers.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/integration/held.h"
#include "tests/integration/transport_pair.h"
#include "tests/integration/wait_until.h"

namespace verbena::transport {
namespace {

constexpr int kConnections = 150;
// Some periods of five seconds: one in which the connections were there, one without them, and what goes at a time.
constexpr absl::Duration kPatience = absl::Seconds(60);

// Few receives at first, so that these connections need many more.
TransportOptions FewReceives() {
  TransportOptions options = TestOptions();
  options.receive_buffers = 64;
  return options;
}

// What an idle transport has; each compared by itself.
struct Memory {
  uint64_t pinned_bytes = ReadTransportCounters().pinned_bytes;
  uint64_t receive_buffers = ReadTransportCounters().receive_buffers;
};

bool IsBackTo(const Memory& before) {
  const Memory now;
  return now.pinned_bytes <= before.pinned_bytes && now.receive_buffers <= before.receive_buffers;
}

std::string Describe(const Memory& memory = Memory()) {
  return absl::StrCat(memory.pinned_bytes, " bytes pinned, ", memory.receive_buffers, " receive buffers");
}

class Connections {
 public:
  Connections() : pair_(FewReceives()) {
    pair_.prepare_accepted = [](End& end) {
      end.on_message = [](End& self, const End::Message& message) { self.Reply(message.call_id, absl::Cord("y")); };
    };
  }

  // One that stays, if it works.
  End* Connect() {
    End* const client = pair_.Connect();
    EXPECT_NE(client, nullptr) << pair_.status();
    return client != nullptr && CallWorks(*client) ? client : nullptr;
  }
  // Many, each of which works; all there at once, then all gone.
  void ComeAndGo() {
    const uint64_t pinned = ReadTransportCounters().pinned_bytes;
    std::vector<End*> clients;
    while (clients.size() < kConnections) {
      clients.push_back(Connect());
      ASSERT_NE(clients.back(), nullptr) << "after " << clients.size() - 1;
    }
    EXPECT_GT(ReadTransportCounters().pinned_bytes, pinned) << "they need receives";
    for (End* const client : clients) ASSERT_TRUE(CallWorks(*client));
    for (End* const client : clients) client->Destroy();
  }
  // Messages to and fro.
  bool CallWorks(End& client, size_t messages = 1) {
    const size_t sent = client.sent().size();
    const size_t answers = client.messages().size();
    for (size_t i = 0; i < messages; ++i) client.Send(i, absl::Cord("x"));
    return client.WaitForSent(sent + messages) && client.WaitForMessages(answers + messages);
  }
  void Close() { pair_.Close(); }

 private:
  TransportPair pair_;
};

TEST(Shrinking, WhenAllConnectionsHaveEndedTheirMemoryIsGivenBackAgainAndAgain) {
  Connections connections;
  End* const first = connections.Connect();
  ASSERT_NE(first, nullptr);
  const Memory before;
  first->Destroy();
  for (int round = 0; round < 2; ++round) {
    connections.ComeAndGo();
    if (HasFatalFailure()) return;
    EXPECT_TRUE(WaitUntil([&] { return IsBackTo(before); }, kPatience))
        << Describe() << ", and before " << Describe(before);
  }
  EXPECT_NE(connections.Connect(), nullptr);
  connections.Close();
  EXPECT_EQ(DescribeHeld(), "");
}

TEST(Shrinking, WhileSomeAreLeftTheOthersMemoryIsGivenBackAsOneOfThemSends) {
  Connections connections;
  std::vector<End*> left(40);
  for (End*& end : left) ASSERT_NE(end = connections.Connect(), nullptr);
  const Memory before;
  connections.ComeAndGo();
  if (HasFatalFailure()) return;
  const auto sends_until_it_is_back = [&] { return !connections.CallWorks(*left[0], 20) || IsBackTo(before); };
  EXPECT_TRUE(WaitUntil(sends_until_it_is_back, kPatience));
  EXPECT_TRUE(IsBackTo(before)) << Describe() << ", and before " << Describe(before);
  for (End* const end : left) EXPECT_TRUE(connections.CallWorks(*end, 5));
  connections.ComeAndGo();
  EXPECT_TRUE(connections.CallWorks(*left[0]));
  connections.Close();
  EXPECT_EQ(DescribeHeld(), "");
}

}  // namespace
}  // namespace verbena::transport
