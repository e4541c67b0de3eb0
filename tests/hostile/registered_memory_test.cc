// A peer that was sent memory which its owner registered, and does with the keys what it likes: it can read what it was
// sent while that lasts, and nothing else and nothing afterwards.

#include <future>
#include <string>

#include "absl/synchronization/notification.h"
#include "gtest/gtest.h"
#include "rpc/channel.h"
#include "rpc/client_context.h"
#include "rpc/payload.h"
#include "tests/hostile/frames.h"
#include "tests/hostile/hostile_server.h"
#include "tests/integration/probe_service.h"
#include "transport/device_context.h"
#include "transport/user_memory.h"

namespace verbena::hostile {
namespace {

using wire::FrameType;
using wire::Segment;

// The client that sends is under attack; so is its memory.
class RegisteredMemoryUnderAttack : public testing::Test {
 protected:
  static constexpr size_t kBytes = 300000;
  static constexpr size_t kPieceAt = 100000;
  static constexpr size_t kPieceBytes = 50000;

  RegisteredMemoryUnderAttack() : attacker_(*HostileServer::Listen()) {
    ChannelOptions options;
    options.transport.rnr_retry_count = 0;
    options.wait = WaitPolicy::kEvent;
    victim_ = *Channel::Create(attacker_->address(), options);
    memory_ = *RegisterMemory(bytes_.data(), bytes_.size(), [this] { deregistered_.Notify(); });
  }
  ~RegisteredMemoryUnderAttack() override {
    context_.TryCancel();
    peer_.reset();
    if (call_.valid()) call_.wait();
    victim_.reset();
  }

  // The victim sends a piece from the middle of its memory; the peer hears of it.
  void SendPiece() {
    call_ = std::async(std::launch::async, [this] {
      probe::Probe::Stub stub(victim_);
      context_.set_timeout(HostilePeer::kPatience);
      context_.set_attachment(*memory_.ToCord(kPieceAt, kPieceBytes));
      const probe::EchoRequest request;
      probe::EchoReply reply;
      return stub.Echo(&context_, request, &reply);
    });
    absl::StatusOr<std::unique_ptr<HostilePeer>> peer = attacker_->Accept();
    ASSERT_TRUE(peer.ok()) << peer.status();
    peer_ = *std::move(peer);
    const std::optional<HostilePeer::Frame> request = peer_->Receive(FrameType::kAnnounce);
    ASSERT_TRUE(request.has_value());
    ASSERT_EQ(request->segments.size(), 2u);
    head_ = request->header;
    piece_ = request->segments.back();
    ASSERT_EQ(piece_.address, reinterpret_cast<uint64_t>(bytes_.data() + kPieceAt));
    ASSERT_EQ(piece_.length, kPieceBytes);
  }
  // The victim is done with the call, and wants no more of its registration.
  void GiveUp() {
    context_.TryCancel();
    EXPECT_FALSE(call_.get().ok());
    context_.Reset();
    memory_ = RegisteredMemory();
  }
  // The device's word on a READ of 64 bytes.
  ibv_wc_status Read(uint64_t address) { return peer_->Touch(IBV_WR_RDMA_READ, Segment{address, 64, piece_.key}); }

  std::string bytes_ = std::string(kBytes, 's');
  absl::Notification deregistered_;
  std::unique_ptr<HostileServer> attacker_;
  std::shared_ptr<Channel> victim_;
  RegisteredMemory memory_;
  ClientContext context_;
  std::future<absl::Status> call_;
  std::unique_ptr<HostilePeer> peer_;
  wire::FrameHeader head_;
  Segment piece_;
};

TEST_F(RegisteredMemoryUnderAttack, WhatWasSentIsReadable) {
  SendPiece();
  EXPECT_EQ(Read(piece_.address), IBV_WC_SUCCESS);
  EXPECT_EQ(peer_->landed()[0], std::byte{'s'});
}

TEST_F(RegisteredMemoryUnderAttack, BeforeThePieceNothingIs) {
  SendPiece();
  EXPECT_EQ(Read(piece_.address - 1), IBV_WC_REM_ACCESS_ERR);
}

TEST_F(RegisteredMemoryUnderAttack, BehindThePieceNothingIs) {
  SendPiece();
  EXPECT_EQ(Read(piece_.address + piece_.length - 63), IBV_WC_REM_ACCESS_ERR);
}

TEST_F(RegisteredMemoryUnderAttack, ThePieceIsNotWritable) {
  SendPiece();
  EXPECT_EQ(peer_->Touch(IBV_WR_RDMA_WRITE, Segment{piece_.address, 64, piece_.key}), IBV_WC_REM_ACCESS_ERR);
  EXPECT_EQ(bytes_, std::string(kBytes, 's'));
}

TEST_F(RegisteredMemoryUnderAttack, TheRegistrationsOwnKeyOpensNothing) {
  SendPiece();
  for (const std::shared_ptr<transport::DeviceContext>& device : transport::DeviceContext::All()) {
    const auto region = transport::UserMemory::Find(bytes_.data(), kBytes)->regions().In(*device);
    ASSERT_TRUE(region.ok()) << region.status();
    piece_.key = (*region)->rkey();
  }
  EXPECT_EQ(Read(piece_.address), IBV_WC_REM_ACCESS_ERR);
}

TEST_F(RegisteredMemoryUnderAttack, WhatWasFinishedIsReadableNoMoreThoughItIsRegistered) {
  SendPiece();
  peer_->Send(Finish(head_.aux, head_.call_id, wire::FinishReason::kFetched));
  peer_->Send(Control(FrameType::kPing));
  ASSERT_TRUE(peer_->Receive(FrameType::kPong).has_value());
  EXPECT_FALSE(deregistered_.HasBeenNotified());
  EXPECT_EQ(Read(piece_.address), IBV_WC_REM_ACCESS_ERR);
}

TEST_F(RegisteredMemoryUnderAttack, AfterDeregistrationTheKeyOpensNothing) {
  SendPiece();
  peer_->Send(Finish(head_.aux, head_.call_id, wire::FinishReason::kFetched));
  GiveUp();
  ASSERT_TRUE(deregistered_.WaitForNotificationWithTimeout(HostilePeer::kPatience));
  EXPECT_EQ(Read(piece_.address), IBV_WC_REM_ACCESS_ERR);
}

TEST_F(RegisteredMemoryUnderAttack, APeerThatDoesNotFinishKeepsThePieceUntilItsConnectionEnds) {
  SendPiece();
  GiveUp();
  ASSERT_TRUE(peer_->Receive(FrameType::kWithdraw).has_value());
  EXPECT_FALSE(deregistered_.HasBeenNotified()) << "the memory must stay mapped";
  EXPECT_EQ(Read(piece_.address), IBV_WC_SUCCESS);
  peer_->Disconnect();
  EXPECT_TRUE(deregistered_.WaitForNotificationWithTimeout(HostilePeer::kPatience));
}

}  // namespace
}  // namespace verbena::hostile
