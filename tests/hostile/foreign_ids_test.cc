// Ids of other calls and of other connections: they name nothing here.

#include <thread>

#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "rpc/client_context.h"
#include "rpc/core/message_kind.h"
#include "tests/hostile/attacked_server.h"
#include "tests/hostile/frames.h"

namespace verbena::hostile {
namespace {

using wire::FrameType;

class ForeignIds : public AttackedServer {
 protected:
  static Bytes Message(uint8_t kind, uint64_t call_id) {
    wire::FrameHeader header;
    header.type = FrameType::kEager;
    header.message_kind = kind;
    header.call_id = call_id;
    return wire::FrameBytes(header);
  }
};

TEST_F(ForeignIds, CancelsOfOthersCallsDoNothing) {
  absl::Status status;
  std::thread caller([&] {
    probe::Probe::Stub stub(honest().channel());
    ClientContext context;
    probe::HoldRequest request;
    probe::HoldReply reply;
    request.set_milliseconds(1000);
    const absl::Time start = absl::Now();
    status = stub.Hold(&context, request, &reply);
    EXPECT_GE(absl::Now() - start, absl::Milliseconds(990)) << "somebody cancelled the call";
  });
  const std::unique_ptr<HostilePeer> peer = Connect();
  EXPECT_NE(peer, nullptr);
  const absl::Time end = absl::Now() + absl::Milliseconds(700);
  for (uint32_t i = 0; peer != nullptr && absl::Now() < end; ++i) {
    // Each is answered with a pong, so that none is beyond the credits.
    peer->Send(Cancel(uint64_t{i / 16 % 64} << 32 | i % 16));
    ExpectAlive(*peer);
    peer->Send(wire::FrameBytes([] {
      wire::FrameHeader grant = ControlHeader(FrameType::kGrant);
      grant.credit_grant = 2;
      return grant;
    }()));
  }
  caller.join();
  EXPECT_TRUE(status.ok()) << status;
}

TEST_F(ForeignIds, FinishingWhatWasNeverAnnouncedIsAProtocolError) {
  ExpectRefused(Finish(0, 1, wire::FinishReason::kFetched));
  ExpectRefused(Finish(31, 1, wire::FinishReason::kFetched));
  ExpectRefused(Finish(32, 1, wire::FinishReason::kFetched));
  ExpectRefused(Finish(0xffffffff, ~uint64_t{0}, wire::FinishReason::kFetched));
}

// The announcement of one connection, finished by another.
TEST_F(ForeignIds, FinishingAnothersTransferIsAProtocolErrorAndLeavesItAlone) {
  const std::unique_ptr<HostilePeer> victim = Connect();
  const std::unique_ptr<HostilePeer> peer = Connect();
  ASSERT_TRUE(victim != nullptr && peer != nullptr);
  victim->Send(FetchRequest(5, 100000));
  const std::optional<HostilePeer::Frame> response = victim->Receive(FrameType::kAnnounce);
  ASSERT_TRUE(response.has_value());
  peer->Send(Finish(response->header.aux, 5, wire::FinishReason::kFetched));
  ExpectProtocolError(*peer);

  wire::Segment identity = response->segments.front();
  identity.length = wire::kIdentityBytes;
  EXPECT_EQ(victim->Touch(IBV_WR_RDMA_READ, identity), IBV_WC_SUCCESS);
  victim->Send(Finish(response->header.aux, 5, wire::FinishReason::kFetched));
  ExpectAlive(*victim);
}

TEST_F(ForeignIds, FinishingTwiceIsAProtocolError) {
  const std::unique_ptr<HostilePeer> peer = Connect();
  ASSERT_NE(peer, nullptr);
  peer->Send(FetchRequest(5, 100000));
  const std::optional<HostilePeer::Frame> response = peer->Receive(FrameType::kAnnounce);
  ASSERT_TRUE(response.has_value());
  peer->Send(Finish(response->header.aux, 5, wire::FinishReason::kFetched));
  peer->Send(Finish(response->header.aux, 5, wire::FinishReason::kFetched));
  ExpectProtocolError(*peer);
}

TEST_F(ForeignIds, FinishingWithAnotherCallsIdIsAProtocolError) {
  const std::unique_ptr<HostilePeer> peer = Connect();
  ASSERT_NE(peer, nullptr);
  peer->Send(FetchRequest(5, 100000));
  const std::optional<HostilePeer::Frame> response = peer->Receive(FrameType::kAnnounce);
  ASSERT_TRUE(response.has_value());
  peer->Send(Finish(response->header.aux, 6, wire::FinishReason::kFetched));
  ExpectProtocolError(*peer);
}

TEST_F(ForeignIds, WithdrawingWhatWasNeverAnnouncedIsIgnored) {
  const std::unique_ptr<HostilePeer> peer = Connect();
  ASSERT_NE(peer, nullptr);
  peer->Send(Control(FrameType::kWithdraw, 0, 1));
  peer->Send(Control(FrameType::kWithdraw, 31 | 7 << 16, 99));
  ExpectAlive(*peer);
}

TEST_F(ForeignIds, WithdrawingASlotOutOfBoundsIsAProtocolError) { ExpectRefused(Control(FrameType::kWithdraw, 32, 1)); }

TEST_F(ForeignIds, WithdrawingWithAnotherCallsIdIsAProtocolError) {
  const std::unique_ptr<HostilePeer> peer = Connect();
  ASSERT_NE(peer, nullptr);
  const std::vector<wire::Segment> segments(60, peer->Shared(0, HostileDevice::kSharedBytes));
  peer->SendTogether(Announcement(1, 0, segments), Control(FrameType::kWithdraw, 0, 2));
  ExpectProtocolError(*peer);
}

TEST_F(ForeignIds, AResponseFromAClientEndsTheConnection) {
  for (const uint64_t id : {uint64_t{0}, uint64_t{1}, uint64_t{1} << 32, ~uint64_t{0}}) {
    const std::unique_ptr<HostilePeer> peer = Connect();
    ASSERT_NE(peer, nullptr);
    peer->Send(Message(static_cast<uint8_t>(rpc::MessageKind::kResponse), id));
    ExpectEnded(*peer);
  }
}

TEST_F(ForeignIds, AMessageOfAnUnknownKindEndsTheConnection) {
  for (const uint8_t kind : {0, 99, 255}) {
    const std::unique_ptr<HostilePeer> peer = Connect();
    ASSERT_NE(peer, nullptr);
    peer->Send(Message(kind, 1));
    ExpectEnded(*peer);
  }
}

TEST_F(ForeignIds, OneIdForTwoCallsLeavesTheFirstAlone) {
  const std::unique_ptr<HostilePeer> peer = Connect();
  ASSERT_NE(peer, nullptr);
  peer->Send(HoldRequest(1));
  peer->Send(EchoRequest(1));
  peer->Send(EchoRequest(2));
  const std::optional<HostilePeer::Frame> response = peer->Receive(FrameType::kEager);
  ASSERT_TRUE(response.has_value());
  EXPECT_EQ(response->header.call_id, 2u);
}

}  // namespace
}  // namespace verbena::hostile
