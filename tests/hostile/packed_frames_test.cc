// Peers that put several frames into one SEND.

#include <set>

#include "gtest/gtest.h"
#include "tests/hostile/attacked_server.h"
#include "tests/hostile/frames.h"

namespace verbena::hostile {
namespace {

using wire::FrameType;
using wire::Together;

class PackedFrames : public AttackedServer {
 protected:
  static constexpr uint32_t kRendezvous = wire::kFeaturePacking | wire::kFeatureRendezvousPacking;

  // A peer that has chosen the feature.
  std::unique_ptr<HostilePeer> ConnectPacking(uint32_t features = wire::kFeaturePacking) {
    return Connect(HostileDevice::kReceives, features);
  }
  // Sends `frames` in one SEND to it, and expects a protocol error.
  void ExpectRefusedTogether(std::initializer_list<Bytes> frames, uint32_t features = wire::kFeaturePacking) {
    const std::unique_ptr<HostilePeer> peer = ConnectPacking(features);
    ASSERT_NE(peer, nullptr);
    peer->Send(Together(frames));
    ExpectProtocolError(*peer);
  }
};

TEST_F(PackedFrames, EachRequestOfASendIsAnswered) {
  const std::unique_ptr<HostilePeer> peer = ConnectPacking();
  ASSERT_NE(peer, nullptr);
  Bytes full;
  std::set<uint64_t> asked;
  for (uint64_t call_id = 1; call_id <= wire::kFramesPerSendMax; ++call_id) {
    full = Together({full, EchoRequest(call_id)});
    asked.insert(call_id);
  }
  peer->Send(full);
  std::set<uint64_t> answered;  // By handlers on threads, in any order.
  while (answered.size() < asked.size()) {
    const auto answer = peer->Receive(FrameType::kEager);
    ASSERT_TRUE(answer.has_value());
    EXPECT_TRUE(answered.insert(answer->header.call_id).second);
  }
  EXPECT_EQ(answered, asked);
  ExpectAlive(*peer);
}

TEST_F(PackedFrames, WithoutTheFeatureTheyAreRefused) { ExpectRefused(Together({EchoRequest(1), EchoRequest(2)})); }

TEST_F(PackedFrames, OnlyEagerFramesMayBeInCompany) {
  ExpectRefusedTogether({EchoRequest(1), Control(FrameType::kGrant)});
  ExpectRefusedTogether({Control(FrameType::kPing), EchoRequest(1)});
  ExpectRefusedTogether({EchoRequest(1), Announcement(2, 0, {{4096, 4096, 7}})});
}

TEST_F(PackedFrames, AnnouncementsAndFinishesAreTakenWhereTheyMayBeInCompany) {
  constexpr uint64_t kBytes = 20000;
  const std::unique_ptr<HostilePeer> peer = ConnectPacking(kRendezvous);
  ASSERT_NE(peer, nullptr);
  const auto announcement = [&](uint64_t call_id, uint32_t transfer) {
    const uint64_t begin = transfer * (kBytes + wire::kIdentityBytes);
    WriteIdentity(peer->epoch(), call_id, kBytes, peer->shared_memory().data() + begin);
    return Announcement(call_id, transfer, {peer->Shared(begin, wire::kIdentityBytes + kBytes)});
  };
  peer->Send(Together({announcement(1, 0), EchoRequest(3), announcement(2, 1)}));
  std::set<uint64_t> answered;
  Bytes finishes;
  while (answered.size() < 2) {
    const auto response = peer->Receive(FrameType::kAnnounce);
    ASSERT_TRUE(response.has_value());
    answered.insert(response->header.call_id);
    const Bytes finish = Finish(response->header.aux, response->header.call_id, wire::FinishReason::kFetched);
    finishes = Together({finishes, finish});
  }
  EXPECT_EQ(answered, std::set<uint64_t>({1, 2}));
  peer->Send(Together({finishes, EchoRequest(4)}));
  ExpectAlive(*peer);
}

TEST_F(PackedFrames, BesideThemOthersStandAloneToo) {
  const Bytes withdraw = Control(FrameType::kWithdraw, 0, 1);
  ExpectRefusedTogether({EchoRequest(1), withdraw}, kRendezvous);
  ExpectRefusedTogether({Control(FrameType::kPing), EchoRequest(1)}, kRendezvous);
  ExpectRefusedTogether({EchoRequest(1), Control(FrameType::kDrain)}, kRendezvous);
}

TEST_F(PackedFrames, AFinishOfNothingEndsTheConnectionInCompanyToo) {
  ExpectRefusedTogether({EchoRequest(1), Finish(3, 1, wire::FinishReason::kFetched)}, kRendezvous);
}

TEST_F(PackedFrames, AnAnnouncementWhoseSegmentsDoNotFillItsPayloadIsRefused) {
  Bytes announcement = Announcement(2, 0, {{4096, 4096, 7}});
  announcement[24] = std::byte{1};  // The payload's length.
  ExpectRefusedTogether({announcement, EchoRequest(1)}, kRendezvous);
}

// Refused as soon as its header is read, by the loop: before what is behind it.
Bytes CallOfNothing(uint64_t call_id) {
  wire::FrameHeader header;
  header.type = FrameType::kEager;
  header.message_kind = 1;  // A request, without a header.
  header.call_id = call_id;
  return wire::FrameBytes(header);
}

TEST_F(PackedFrames, WhatStandsInFrontOfAFrameThatIsCutShortIsAnswered) {
  const Bytes second = EchoRequest(2);
  for (size_t length = 1; length < second.size() && !HasFailure(); length += 7) {
    SCOPED_TRACE(length);
    const std::unique_ptr<HostilePeer> peer = ConnectPacking();
    ASSERT_NE(peer, nullptr);
    peer->Send(Together({CallOfNothing(1), Bytes(second.begin(), second.begin() + static_cast<ptrdiff_t>(length))}));
    const auto answer = peer->Receive(FrameType::kEager);
    ASSERT_TRUE(answer.has_value());
    EXPECT_EQ(answer->header.call_id, 1u);
    ExpectProtocolError(*peer);
  }
}

TEST_F(PackedFrames, MoreThanTheMostAreRefused) {
  Bytes frames;
  for (uint64_t call_id = 1; call_id <= wire::kFramesPerSendMax + 1; ++call_id) {
    frames = Together({frames, CallOfNothing(call_id)});
  }
  ExpectRefusedTogether({frames});
}

// A message that ends the connection is the last that is taken.
TEST_F(PackedFrames, NothingBehindTheEndIsTaken) {
  wire::FrameHeader unknown;
  unknown.type = FrameType::kEager;
  unknown.message_kind = 99;
  const std::unique_ptr<HostilePeer> peer = ConnectPacking();
  ASSERT_NE(peer, nullptr);
  peer->Send(Together({wire::FrameBytes(unknown), CallOfNothing(1)}));
  ExpectGoodbye(*peer, wire::GoodbyeReason::kShutdown);
  EXPECT_FALSE(peer->Receive(FrameType::kEager).has_value());
}

}  // namespace
}  // namespace verbena::hostile
