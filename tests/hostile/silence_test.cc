// Peers that say nothing: noticed, and their share given back.

#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "tests/hostile/attacked_server.h"
#include "tests/hostile/frames.h"

namespace verbena::hostile {
namespace {

class SilentPeers : public AttackedServer {
 protected:
  SilentPeers() : AttackedServer(WithKeepalive()) {}

 private:
  static ServerOptions WithKeepalive() {
    ServerOptions options = Options();
    options.transport.keepalive_interval = absl::Milliseconds(200);
    // Far from what an honest client needs on a busy machine.
    options.transport.keepalive_timeout = absl::Seconds(4);
    return options;
  }
};

TEST_F(SilentPeers, APeerThatAnswersNoProbeLosesTheConnection) {
  const std::unique_ptr<HostilePeer> peer = Connect();
  ASSERT_NE(peer, nullptr);
  ExpectEnded(*peer);
}

TEST_F(SilentPeers, ManyOfThemLoseTheirConnections) {
  std::vector<std::unique_ptr<HostilePeer>> peers;
  for (int i = 0; i < 50; ++i) {
    peers.push_back(Connect());
    ASSERT_NE(peers.back(), nullptr);
  }
  for (const std::unique_ptr<HostilePeer>& peer : peers) EXPECT_TRUE(peer->WaitForEnd());
}

TEST_F(SilentPeers, APeerThatStopsInTheMiddleOfACallLosesTheConnectionAndItsCallIsCancelled) {
  const std::unique_ptr<HostilePeer> peer = Connect();
  ASSERT_NE(peer, nullptr);
  peer->Send(HoldRequest(1));
  ExpectEnded(*peer);
}  // The call's handler would run for a minute; the server's counts say when it has returned.

TEST_F(SilentPeers, TalkingForEverWithoutAnyMessageIsHarmless) {
  const std::unique_ptr<HostilePeer> peer = Connect();
  ASSERT_NE(peer, nullptr);
  for (int i = 0; i < 10; ++i) ExpectAlive(*peer);
}

}  // namespace
}  // namespace verbena::hostile
