// One-sided attacks: on the server's memory, and on what it exports.

#include "gtest/gtest.h"
#include "tests/hostile/attacked_server.h"
#include "tests/hostile/frames.h"
#include "transport/device_context.h"
#include "transport/payload_arena.h"
#include "transport/soft/soft_api.h"

namespace verbena::hostile {
namespace {

using wire::FrameType;
using wire::Segment;

class HostileMemoryAccess : public AttackedServer {
 protected:
  // What the server exports as the response to a call of the peer's.
  std::optional<HostilePeer::Frame> ExportTo(HostilePeer& peer, uint64_t call_id = 5) {
    peer.Send(FetchRequest(call_id, 100000));
    std::optional<HostilePeer::Frame> response = peer.Receive(FrameType::kAnnounce);
    EXPECT_TRUE(response.has_value());
    return response;
  }
  // The first bytes of a segment.
  static Segment Head(Segment segment, uint64_t length = 32) {
    segment.length = length;
    return segment;
  }
  // `attack` fails at the device, and everybody else is served.
  void ExpectDenied(HostilePeer& peer, ibv_wr_opcode attack, const Segment& segment) {
    EXPECT_EQ(peer.Touch(attack, segment), IBV_WC_REM_ACCESS_ERR);
    ExpectEnded(peer);
  }
};

TEST_F(HostileMemoryAccess, WhatIsExportedToAPeerItMayRead) {
  const std::unique_ptr<HostilePeer> peer = Connect();
  ASSERT_NE(peer, nullptr);
  const auto response = ExportTo(*peer);
  ASSERT_TRUE(response.has_value());
  ASSERT_EQ(peer->Touch(IBV_WR_RDMA_READ, Head(response->segments.front())), IBV_WC_SUCCESS);
  const absl::StatusOr<wire::Identity> identity = wire::DecodeIdentity(peer->landed());
  ASSERT_TRUE(identity.ok()) << identity.status();
  EXPECT_EQ(identity->epoch, peer->epoch());
}

TEST_F(HostileMemoryAccess, BeyondTheExportNothingIsReadable) {
  for (const bool behind : {false, true}) {
    const std::unique_ptr<HostilePeer> peer = Connect();
    ASSERT_NE(peer, nullptr);
    const auto response = ExportTo(*peer);
    ASSERT_TRUE(response.has_value());
    Segment segment = response->segments.back();
    segment.address += behind ? segment.length : -uint64_t{1};
    ExpectDenied(*peer, IBV_WR_RDMA_READ, Head(segment, 1));
  }
}

TEST_F(HostileMemoryAccess, WhatIsFinishedIsReadableNoMore) {
  const std::unique_ptr<HostilePeer> peer = Connect();
  ASSERT_NE(peer, nullptr);
  const auto response = ExportTo(*peer);
  ASSERT_TRUE(response.has_value());
  peer->Send(Finish(response->header.aux, 5, wire::FinishReason::kFetched));
  ExpectAlive(*peer);
  ExpectDenied(*peer, IBV_WR_RDMA_READ, Head(response->segments.front()));
}

// The two share the server's protection domain: only the window that serves one queue pair tells them apart.
TEST_F(HostileMemoryAccess, WhatIsExportedToOneIsNotReadableByAnotherWhoKnowsAddressAndKey) {
  const std::unique_ptr<HostilePeer> victim = Connect();
  const std::unique_ptr<HostilePeer> peer = Connect();
  ASSERT_TRUE(victim != nullptr && peer != nullptr);
  if (!HasWindows(*peer)) GTEST_SKIP() << "a device without type 2B windows: see docs/wire.md, Security";
  const auto response = ExportTo(*victim);
  ASSERT_TRUE(response.has_value());
  ExpectDenied(*peer, IBV_WR_RDMA_READ, Head(response->segments.front()));
  EXPECT_EQ(victim->Touch(IBV_WR_RDMA_READ, Head(response->segments.front())), IBV_WC_SUCCESS);
}

// It takes away what was lent to itself, and so breaks its own connection at most.
TEST_F(HostileMemoryAccess, APeerThatInvalidatesItsKeyHarmsNobodyElse) {
  const std::unique_ptr<HostilePeer> peer = Connect();
  ASSERT_NE(peer, nullptr);
  const auto response = ExportTo(*peer);
  ASSERT_TRUE(response.has_value());
  peer->Send(Finish(response->header.aux, 5, wire::FinishReason::kFetched), IBV_WR_SEND_WITH_INV,
             response->segments.front().key);
  ExpectEnded(*peer);
}

TEST_F(HostileMemoryAccess, APeerThatInvalidatesTheKeyOfAnotherTakesNothingAway) {
  const std::unique_ptr<HostilePeer> victim = Connect();
  const std::unique_ptr<HostilePeer> peer = Connect();
  ASSERT_TRUE(victim != nullptr && peer != nullptr);
  if (!HasWindows(*peer)) GTEST_SKIP() << "a device without type 2B windows: see docs/wire.md, Security";
  const auto response = ExportTo(*victim);
  ASSERT_TRUE(response.has_value());
  peer->Send(Control(FrameType::kPing), IBV_WR_SEND_WITH_INV, response->segments.front().key);
  ExpectEnded(*peer);
  EXPECT_EQ(victim->Touch(IBV_WR_RDMA_READ, Head(response->segments.front())), IBV_WC_SUCCESS);
}

TEST_F(HostileMemoryAccess, WhatIsExportedIsNotWritable) {
  const std::unique_ptr<HostilePeer> peer = Connect();
  ASSERT_NE(peer, nullptr);
  const auto response = ExportTo(*peer);
  ASSERT_TRUE(response.has_value());
  ExpectDenied(*peer, IBV_WR_RDMA_WRITE, Head(response->segments.front()));
}

TEST_F(HostileMemoryAccess, WhatTheServerLandsPayloadsInIsNeitherReadableNorWritable) {
  for (const ibv_wr_opcode attack : {IBV_WR_RDMA_READ, IBV_WR_RDMA_WRITE}) {
    const std::unique_ptr<HostilePeer> peer = Connect();
    ASSERT_NE(peer, nullptr);
    const transport::BlockRef block = *transport::PayloadArena::Get().Allocate(100000);
    const auto device = transport::DeviceContext::For(peer->id());
    ASSERT_TRUE(device.ok()) << device.status();
    const auto region = block->regions().In(**device);
    ASSERT_TRUE(region.ok()) << region.status();
    ExpectDenied(*peer, attack, Segment{reinterpret_cast<uint64_t>(block->data()), 64, (*region)->rkey()});
  }
}

TEST_F(HostileMemoryAccess, KeysOutOfTheAirOpenNothing) {
  const std::unique_ptr<HostilePeer> witness = Connect();
  ASSERT_NE(witness, nullptr);
  const auto response = ExportTo(*witness);
  ASSERT_TRUE(response.has_value());
  for (const uint32_t difference : {0x1u, 0x8000u, 0x10000u, 0x80000000u}) {
    const std::unique_ptr<HostilePeer> peer = Connect();
    ASSERT_NE(peer, nullptr);
    Segment segment = Head(response->segments.front());
    segment.key ^= difference;
    ExpectDenied(*peer, IBV_WR_RDMA_READ, segment);
  }
}

// The receive that it takes holds what some other peer sent earlier: none of that may be taken for a frame.
TEST_F(HostileMemoryAccess, AWriteWithImmediateIsNoFrame) {
  const std::unique_ptr<HostilePeer> peer = Connect();
  ASSERT_NE(peer, nullptr);
  peer->Send({}, IBV_WR_RDMA_WRITE_WITH_IMM);
  ExpectEnded(*peer);
}

TEST_F(HostileMemoryAccess, ASendWithImmediateIsAFrameAsAnyOther) {
  const std::unique_ptr<HostilePeer> peer = Connect();
  ASSERT_NE(peer, nullptr);
  peer->Send(EchoRequest(1), IBV_WR_SEND_WITH_IMM);
  EXPECT_TRUE(peer->Receive(FrameType::kEager).has_value());
}

}  // namespace
}  // namespace verbena::hostile
