// Announcements that lie: about memory, about identity, about slots. The server READs only what it was given, delivers
// nothing that is not what was announced, and holds nothing afterwards.

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/hostile/attacked_server.h"
#include "tests/hostile/frames.h"

namespace verbena::hostile {
namespace {

using wire::FinishReason;
using wire::FrameType;
using wire::Segment;

constexpr uint64_t kPayloadBytes = 100000;
constexpr uint64_t kCall = 7;

class HostileAnnouncements : public AttackedServer {
 protected:
  // What the server answers an announcement with.
  void ExpectFinish(HostilePeer& peer, uint32_t transfer, FinishReason reason) {
    const std::optional<HostilePeer::Frame> finish = peer.Receive(FrameType::kFinish);
    ASSERT_TRUE(finish.has_value());
    EXPECT_EQ(finish->header.aux, transfer);
    EXPECT_EQ(static_cast<FinishReason>(finish->header.message_kind), reason);
  }
  // The server's READ fails at this side, and with it the connection.
  void ExpectReadFails(HostilePeer& peer, const std::vector<Segment>& segments) {
    peer.Send(Announcement(kCall, 0, segments));
    ExpectEnded(peer);
    EXPECT_NE(peer.goodbye(), wire::GoodbyeReason::kClosed);
  }
  // An announcement in order but for its identity block is finished as failed, and the connection goes on.
  void ExpectIdentityRefused(uint64_t epoch, uint64_t call_id, uint64_t payload_bytes) {
    const std::unique_ptr<HostilePeer> peer = Connect();
    ASSERT_NE(peer, nullptr);
    WriteIdentity(epoch, call_id, payload_bytes, peer->shared_memory().data());
    peer->Send(Announcement(kCall, 0, {peer->Shared(0, wire::kIdentityBytes + kPayloadBytes)}));
    ExpectFinish(*peer, 0, FinishReason::kFailed);
    ExpectAlive(*peer);
  }
  // The peer's whole memory, over and over: a message that takes its time to fetch.
  static std::vector<Segment> LongMessage(const HostilePeer& peer) {
    return std::vector<Segment>(60, peer.Shared(0, HostileDevice::kSharedBytes));
  }
  static uint64_t LengthOf(const std::vector<Segment>& segments) {
    uint64_t length = 0;
    for (const Segment& segment : segments) length += segment.length;
    return length - wire::kIdentityBytes;
  }
};

TEST_F(HostileAnnouncements, AnHonestOneIsFetchedAndAnswered) {
  const std::unique_ptr<HostilePeer> peer = Connect();
  ASSERT_NE(peer, nullptr);
  WriteIdentity(peer->epoch(), kCall, kPayloadBytes, peer->shared_memory().data());
  peer->Send(Announcement(kCall, 0, {peer->Shared(0, wire::kIdentityBytes + kPayloadBytes)}));
  ExpectFinish(*peer, 0, FinishReason::kFetched);
  const std::optional<HostilePeer::Frame> response = peer->Receive(FrameType::kAnnounce);
  ASSERT_TRUE(response.has_value());
  EXPECT_EQ(response->header.payload_bytes, kPayloadBytes);
  EXPECT_EQ(response->header.call_id, kCall);
}

TEST_F(HostileAnnouncements, AKeyThatDoesNotExistFailsTheFetch) {
  const std::unique_ptr<HostilePeer> peer = Connect();
  ASSERT_NE(peer, nullptr);
  Segment segment = peer->Shared(0, kPayloadBytes);
  segment.key ^= 0x8001;
  ExpectReadFails(*peer, {segment});
}

TEST_F(HostileAnnouncements, MemoryBeyondTheRegionFailsTheFetch) {
  for (const uint64_t offset : {HostileDevice::kSharedBytes - 1000, HostileDevice::kSharedBytes}) {
    const std::unique_ptr<HostilePeer> peer = Connect();
    ASSERT_NE(peer, nullptr);
    ExpectReadFails(*peer, {peer->Shared(offset, kPayloadBytes)});
  }
}

TEST_F(HostileAnnouncements, MemoryBeforeTheRegionFailsTheFetch) {
  const std::unique_ptr<HostilePeer> peer = Connect();
  ASSERT_NE(peer, nullptr);
  Segment segment = peer->Shared(0, kPayloadBytes);
  segment.address -= 1;
  ExpectReadFails(*peer, {segment});
}

TEST_F(HostileAnnouncements, AddressesWithNothingAtThemFailTheFetch) {
  for (const uint64_t address : {uint64_t{0}, uint64_t{4096}, uint64_t{1} << 63, ~uint64_t{0} - 2 * kPayloadBytes}) {
    const std::unique_ptr<HostilePeer> peer = Connect();
    ASSERT_NE(peer, nullptr);
    Segment segment = peer->Shared(0, kPayloadBytes);
    segment.address = address;
    ExpectReadFails(*peer, {segment});
  }
}

TEST_F(HostileAnnouncements, MemoryThatIsNotRegisteredForReadingFailsTheFetch) {
  const std::unique_ptr<HostilePeer> peer = Connect();
  ASSERT_NE(peer, nullptr);
  ExpectReadFails(*peer, {peer->Private(10000)});
}

TEST_F(HostileAnnouncements, TheLastOfManySegmentsMayBeTheForgedOne) {
  const std::unique_ptr<HostilePeer> peer = Connect();
  ASSERT_NE(peer, nullptr);
  std::vector<Segment> segments = LongMessage(*peer);
  segments.back().key ^= 0x8001;
  ExpectReadFails(*peer, segments);
}

// The server would read its own memory, into a request of the peer's, if keys of all connections were one.
TEST_F(HostileAnnouncements, AKeyOfTheServersOwnExportFailsTheFetch) {
  const std::unique_ptr<HostilePeer> victim = Connect();
  const std::unique_ptr<HostilePeer> peer = Connect();
  ASSERT_TRUE(victim != nullptr && peer != nullptr);
  victim->Send(FetchRequest(1, kPayloadBytes));
  const std::optional<HostilePeer::Frame> response = victim->Receive(FrameType::kAnnounce);
  ASSERT_TRUE(response.has_value());
  ExpectReadFails(*peer, response->segments);
  ExpectAlive(*victim);
}

TEST_F(HostileAnnouncements, AKeyOfAnotherPeersMemoryFailsTheFetch) {
  const std::unique_ptr<HostilePeer> victim = Connect();
  const std::unique_ptr<HostilePeer> peer = Connect();
  ASSERT_TRUE(victim != nullptr && peer != nullptr);
  ExpectReadFails(*peer, {victim->Shared(0, kPayloadBytes)});
  ExpectAlive(*victim);
}

TEST_F(HostileAnnouncements, AnIdentityOfAnotherEpochIsNotDelivered) {
  ExpectIdentityRefused(0x1234, kCall, kPayloadBytes);
}

TEST_F(HostileAnnouncements, AnIdentityOfAnotherCallIsNotDelivered) {
  const std::unique_ptr<HostilePeer> peer = Connect();
  ASSERT_NE(peer, nullptr);
  ExpectIdentityRefused(peer->epoch(), kCall + 1, kPayloadBytes);
  ExpectIdentityRefused(peer->epoch(), kCall | uint64_t{1} << 32, kPayloadBytes);
}

TEST_F(HostileAnnouncements, AnIdentityOfAnotherLengthIsNotDelivered) {
  const std::unique_ptr<HostilePeer> peer = Connect();
  ASSERT_NE(peer, nullptr);
  ExpectIdentityRefused(peer->epoch(), kCall, kPayloadBytes - 1);
  ExpectIdentityRefused(peer->epoch(), kCall, ~uint64_t{0});
}

TEST_F(HostileAnnouncements, NoIdentityAtAllIsNotDelivered) {
  const std::unique_ptr<HostilePeer> peer = Connect();
  ASSERT_NE(peer, nullptr);
  peer->Send(Announcement(kCall, 0, {peer->Shared(0, wire::kIdentityBytes + kPayloadBytes)}));
  ExpectFinish(*peer, 0, FinishReason::kFailed);
  ExpectAlive(*peer);
}

TEST_F(HostileAnnouncements, AChecksumThatDoesNotMatchIsNotDelivered) {
  const std::unique_ptr<HostilePeer> peer = Connect();
  ASSERT_NE(peer, nullptr);
  WriteIdentity(peer->epoch(), kCall, kPayloadBytes, peer->shared_memory().data());
  const Segment segment = peer->Shared(0, wire::kIdentityBytes + kPayloadBytes);
  peer->Send(Announcement(kCall, 0, {segment}, wire::kFlagChecksum));
  ExpectFinish(*peer, 0, FinishReason::kFailed);
  ExpectAlive(*peer);
}

TEST_F(HostileAnnouncements, AMessageFarTooLongIsRefusedUnfetched) {
  const std::unique_ptr<HostilePeer> peer = Connect();
  ASSERT_NE(peer, nullptr);
  const uint64_t reads = ReadTransportCounters().reads;
  peer->Send(Announcement(kCall, 0, {{4096, uint64_t{1} << 60, 1}}));
  ExpectFinish(*peer, 0, FinishReason::kRefused);
  peer->Send(Announcement(kCall, 0, std::vector<Segment>(64, {4096, uint64_t{1} << 57, 1})));
  ExpectFinish(*peer, 0, FinishReason::kRefused);
  EXPECT_EQ(ReadTransportCounters().landing_bytes / (uint64_t{1} << 30), 0u);
  EXPECT_LT(ReadTransportCounters().reads, reads + 1000);  // The honest client's.
  ExpectAlive(*peer);
}

TEST_F(HostileAnnouncements, ASlotOutOfBoundsIsAProtocolError) {
  ExpectRefused(Announcement(kCall, 32, {{4096, 4096, 1}}));
  ExpectRefused(Announcement(kCall, 0xffff, {{4096, 4096, 1}}));
}

TEST_F(HostileAnnouncements, ASlotThatIsInUseIsAProtocolError) {
  const std::unique_ptr<HostilePeer> peer = Connect();
  ASSERT_NE(peer, nullptr);
  peer->SendTogether(Announcement(kCall, 3, LongMessage(*peer)),
                     Announcement(kCall + 1, 3 | 1 << 16, LongMessage(*peer)));
  ExpectProtocolError(*peer);
}

TEST_F(HostileAnnouncements, OneCallAnnouncedTwiceIsFetchedOnceAtMost) {
  const std::unique_ptr<HostilePeer> peer = Connect();
  ASSERT_NE(peer, nullptr);
  const std::vector<Segment> segments = LongMessage(*peer);
  WriteIdentity(peer->epoch(), kCall, LengthOf(segments), peer->shared_memory().data());
  peer->SendTogether(Announcement(kCall, 0, segments), Announcement(kCall, 1, segments));
  ExpectFinish(*peer, 1, FinishReason::kRefused);
  ExpectFinish(*peer, 0, FinishReason::kFetched);
}

TEST_F(HostileAnnouncements, LeavingInTheMiddleOfAFetchLeavesNothing) {
  for (int i = 0; i < 5; ++i) {
    const std::unique_ptr<HostilePeer> peer = Connect();
    ASSERT_NE(peer, nullptr);
    const uint64_t reads = ReadTransportCounters().reads;
    peer->Send(Announcement(kCall, 0, LongMessage(*peer)));
    while (i > 0 && ReadTransportCounters().reads < reads + 2 * static_cast<uint64_t>(i)) {
    }
    if (i % 2 == 0) peer->Disconnect();
  }  // Or it is gone without a word.
  honest().ExpectServed();
}

TEST_F(HostileAnnouncements, WithdrawingInTheMiddleOfAFetchIsAnswered) {
  const std::unique_ptr<HostilePeer> peer = Connect();
  ASSERT_NE(peer, nullptr);
  peer->SendTogether(Announcement(kCall, 0, LongMessage(*peer)), Control(FrameType::kWithdraw, 0, kCall));
  ExpectFinish(*peer, 0, FinishReason::kWithdrawn);
  peer->Send(Control(FrameType::kWithdraw, 0, kCall));  // Once more: it is finished already.
  ExpectAlive(*peer);
}

TEST_F(HostileAnnouncements, AMessageBehindTheDrainIsAProtocolError) {
  const std::unique_ptr<HostilePeer> peer = Connect();
  ASSERT_NE(peer, nullptr);
  peer->Send(HoldRequest(1));  // So that the server has a reason to stay.
  peer->Send(Control(FrameType::kDrain));
  peer->Send(EchoRequest(2));
  ExpectEnded(*peer);
}

// The memory of a response stays in quarantine for as long as the peer does not finish it, and no longer than the
// connection.
TEST_F(HostileAnnouncements, APeerThatNeverFinishesLosesTheConnection) {
  const std::unique_ptr<HostilePeer> peer = Connect();
  ASSERT_NE(peer, nullptr);
  for (uint64_t call = 1; call <= 17; ++call) {
    peer->Send(FetchRequest(call, kPayloadBytes));
    const std::optional<HostilePeer::Frame> response = peer->Receive(FrameType::kAnnounce);
    ASSERT_TRUE(response.has_value()) << call;
    peer->Send(Cancel(call));
  }
  ExpectGoodbye(*peer, wire::GoodbyeReason::kQuarantineFull);
}

// Little memory to export, and little patience with those who sit on it.
class HostileFetchers : public AttackedServer {
 protected:
  HostileFetchers() : AttackedServer(WithLittleMemory()) {}
  // The server exports a response to the peer, who never finishes it. Returns its first segment.
  Segment HoldResponse(HostilePeer& peer, uint64_t call) {
    peer.Send(FetchRequest(call, kPayloadBytes));
    const std::optional<HostilePeer::Frame> response = peer.Receive(FrameType::kAnnounce);
    EXPECT_TRUE(response.has_value()) << call;
    return response.has_value() ? response->segments.front() : Segment();
  }
  static constexpr uint64_t kExportBytesMax = 10 * kPayloadBytes;

 private:
  static ServerOptions WithLittleMemory() {
    ServerOptions options = Options();
    options.transport.export_bytes_max = kExportBytesMax;
    options.transport.memory_wait_timeout = absl::Milliseconds(300);
    return options;
  }
};

// A quarter of what the loop may export has room for two of these.
TEST_F(HostileFetchers, PastTheQuarantineTheOldestIsTakenAwayOrTheConnection) {
  const std::unique_ptr<HostilePeer> peer = Connect();
  ASSERT_NE(peer, nullptr);
  std::vector<Segment> held;
  for (uint64_t call = 1; call <= 3; ++call) {
    held.push_back(HoldResponse(*peer, call));
    peer->Send(Cancel(call));
    if (call == 3) break;  // Only what the peer was asked for is taken away.
    ASSERT_TRUE(peer->Receive(FrameType::kWithdraw).has_value());
  }
  if (!HasWindows(*peer)) return ExpectGoodbye(*peer, wire::GoodbyeReason::kQuarantineFull);
  ExpectAlive(*peer);
  for (Segment& segment : held) segment.length = wire::kIdentityBytes;
  EXPECT_EQ(peer->Touch(IBV_WR_RDMA_READ, held[2]), IBV_WC_SUCCESS);
  EXPECT_EQ(peer->Touch(IBV_WR_RDMA_READ, held[0]), IBV_WC_REM_ACCESS_ERR);
  ExpectEnded(*peer);
}

// Nothing is withdrawn: to the protocol this is a slow fetcher, and only those who wait show that it is one too many.
TEST_F(HostileFetchers, APeerThatHoldsAllExportsLosesTheConnectionWhenOthersHaveWaited) {
  const std::unique_ptr<HostilePeer> peer = Connect();
  ASSERT_NE(peer, nullptr);
  for (uint64_t call = 1; call <= 9; ++call) HoldResponse(*peer, call);
  for (uint64_t call = 10; call <= 20; ++call) peer->Send(FetchRequest(call, kPayloadBytes));
  ExpectGoodbye(*peer, wire::GoodbyeReason::kShutdown);
  EXPECT_THAT(peer->goodbye_words(), testing::HasSubstr("memory_wait_timeout"));
}

}  // namespace
}  // namespace verbena::hostile
