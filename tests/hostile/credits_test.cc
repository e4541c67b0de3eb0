// Peers that cheat with credits.

#include "gtest/gtest.h"
#include "tests/hostile/attacked_server.h"
#include "tests/hostile/frames.h"
#include "transport/wire/hello.h"

namespace verbena::hostile {
namespace {

using wire::FrameType;

using CreditCheats = AttackedServer;

Bytes PingThatGrants(uint16_t credits) {
  wire::FrameHeader header = ControlHeader(FrameType::kPing);
  header.credit_grant = credits;
  return wire::FrameBytes(header);
}

// What the server grants in answers, the peer never looks at: it sends as fast as it can.
TEST_F(CreditCheats, SendingWithoutCreditsEndsTheConnectionAtOnce) {
  for (int round = 0; round < 10; ++round) {
    // Also a peer that has promised to ask for solicited events, and asks for none.
    const auto peer = Connect(HostileDevice::kReceives, round % 2 == 0 ? 0 : wire::kFeatureSolicited);
    ASSERT_NE(peer, nullptr);
    for (int i = 0; i < 2000; ++i) peer->Send(Control(FrameType::kGrant));
    ExpectEnded(*peer);
  }
}

TEST_F(CreditCheats, MalformedFramesBeyondTheCreditsEndTheConnection) {
  const std::unique_ptr<HostilePeer> peer = Connect();
  ASSERT_NE(peer, nullptr);
  for (int i = 0; i < 200; ++i) peer->Send(Bytes(100, std::byte{0xff}));
  ExpectEnded(*peer);
}

TEST_F(CreditCheats, GrantingMoreThanAnyoneMayHoldIsAProtocolError) {
  const std::unique_ptr<HostilePeer> peer = Connect();
  ASSERT_NE(peer, nullptr);
  peer->Send(PingThatGrants(0xffff));
  ExpectProtocolError(*peer);
}

TEST_F(CreditCheats, GivingBackMoreThanWasGrantedIsAProtocolError) {
  ExpectRefused(Control(FrameType::kReturn, 10000));
  ExpectRefused(Control(FrameType::kReturn, 0xffffffff));
}

TEST_F(CreditCheats, GivingBackTwiceIsAProtocolError) {
  const std::unique_ptr<HostilePeer> peer = Connect();
  ASSERT_NE(peer, nullptr);
  const uint32_t granted = peer->agreement().peers.initial_credits;
  ASSERT_GE(granted, 2u);
  peer->Send(Control(FrameType::kReturn, granted - 1));  // It spends the last of them itself.
  peer->Send(Control(FrameType::kReturn, granted));
  ExpectEnded(*peer);
}

TEST_F(CreditCheats, AskingForCreditsBackAllTheTimeIsHarmless) {
  const std::unique_ptr<HostilePeer> peer = Connect();
  ASSERT_NE(peer, nullptr);
  for (int i = 0; i < 8; ++i) peer->Send(Control(FrameType::kReclaim));
  ExpectAlive(*peer);
}

TEST_F(CreditCheats, APeerThatNeverGrantsIsAnsweredAsFarAsItsCreditsGoAndHoldsNothingAfterwards) {
  const std::unique_ptr<HostilePeer> peer = Connect();
  ASSERT_NE(peer, nullptr);
  // As many calls as the first credits allow; the answers, and the grants for more, need credits of this side.
  const uint64_t calls = peer->agreement().peers.initial_credits;
  for (uint64_t id = 1; id <= calls; ++id) peer->Send(EchoRequest(id));
  EXPECT_TRUE(peer->Receive(FrameType::kEager).has_value());
  honest().ExpectServed();
}

// Few send buffers, and a server that retries for ever what finds no receive.
class PeersThatTakeNothing : public AttackedServer {
 protected:
  PeersThatTakeNothing() : AttackedServer(WithPatience()) {}

 private:
  static ServerOptions WithPatience() {
    ServerOptions options = Options();
    options.transport.send_buffers = 16;
    options.transport.rnr_retry_count = 7;
    return options;
  }
};

TEST_F(PeersThatTakeNothing, TheyLeaveSendBuffersForEverybodyElse) {
  std::vector<std::unique_ptr<HostilePeer>> peers;
  for (int i = 0; i < 3; ++i) {
    peers.push_back(Connect(/*receives=*/0));
    ASSERT_NE(peers.back(), nullptr);
    for (uint64_t call = 1; call <= 20; ++call) peers.back()->Send(EchoRequest(call));
    honest().ExpectServed();
  }
}

}  // namespace
}  // namespace verbena::hostile
