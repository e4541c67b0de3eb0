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
  // A peer that has chosen the feature.
  std::unique_ptr<HostilePeer> ConnectPacking() { return Connect(HostileDevice::kReceives, wire::kFeaturePacking); }
  // Sends `frames` in one SEND to it, and expects a protocol error.
  void ExpectRefusedTogether(std::initializer_list<Bytes> frames) {
    const std::unique_ptr<HostilePeer> peer = ConnectPacking();
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
