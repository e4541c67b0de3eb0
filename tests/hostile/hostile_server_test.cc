// Servers that break the rules, against a client that must not care: its call fails once and in words, its process
// lives, and nobody else's calls notice.

#include "tests/hostile/hostile_server.h"

#include <future>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "rpc/channel.h"
#include "rpc/client_context.h"
#include "tests/hostile/attacked_server.h"
#include "tests/hostile/frames.h"

namespace verbena::hostile {
namespace {

using testing::HasSubstr;
using wire::FrameType;

// Beside the server that it attacks with, there is an honest one, whose client is served to the end.
class HostileServers : public AttackedServer {
 protected:
  HostileServers() : attacker_(*HostileServer::Listen()) {
    ChannelOptions options;
    options.transport.rnr_retry_count = 0;
    options.wait = WaitPolicy::kEvent;
    options.connect_timeout = absl::Seconds(2);
    victim_ = *Channel::Create(attacker_->address(), options);
  }
  ~HostileServers() override {
    victim_.reset();
    attacker_.reset();
  }

  HostileServer& attacker() { return *attacker_; }

  // The victim calls Echo; the status comes when the call is complete.
  std::future<absl::Status> Call(size_t bytes = 32) {
    return std::async(std::launch::async, [this, bytes] {
      probe::Probe::Stub stub(victim_);
      ClientContext context;
      context.set_timeout(HostilePeer::kPatience);
      probe::EchoRequest request;
      probe::EchoReply reply;
      request.set_body(std::string(bytes, 'v'));
      return stub.Echo(&context, request, &reply);
    });
  }
  // The attacker has the victim's connection, on which a call has arrived.
  std::unique_ptr<HostilePeer> AcceptCall() {
    absl::StatusOr<std::unique_ptr<HostilePeer>> peer = attacker_->Accept();
    EXPECT_TRUE(peer.ok()) << peer.status();
    if (!peer.ok()) return nullptr;
    const std::optional<HostilePeer::Frame> request = (*peer)->Receive(FrameType::kEager);
    EXPECT_TRUE(request.has_value());
    if (request) call_id_ = request->header.call_id;
    return *std::move(peer);
  }
  // Answers a call with `frame`; it fails, with `words`.
  void ExpectCallFails(const Bytes& frame, const char* words = "protocol error") {
    std::future<absl::Status> call = Call();
    const std::unique_ptr<HostilePeer> peer = AcceptCall();
    ASSERT_NE(peer, nullptr);
    peer->Send(frame);
    const absl::Status status = call.get();
    EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(words));
    honest().ExpectServed();
  }
  // The victim takes this answer for none.
  void ExpectAnswerRefused(const std::function<void(wire::Hello*)>& spoil) {
    std::future<absl::Status> call = Call();
    const auto peer = attacker_->Accept(spoil);
    ASSERT_TRUE(peer.ok()) << peer.status();
    EXPECT_TRUE((*peer)->WaitForEnd());
    EXPECT_FALSE(call.get().ok());
    honest().ExpectServed();
  }

  uint64_t call_id_ = 0;

 private:
  std::unique_ptr<HostileServer> attacker_;
  std::shared_ptr<Channel> victim_;
};

TEST_F(HostileServers, AnAnswerOfAnotherEpochIsRefused) {
  ExpectAnswerRefused([](wire::Hello* hello) { ++hello->epoch; });
}

TEST_F(HostileServers, AVersionThatWasNotOfferedIsRefused) {
  ExpectAnswerRefused([](wire::Hello* hello) { hello->version_min = hello->version_max = 9; });
}

TEST_F(HostileServers, FeaturesThatWereNotOfferedAreRefused) {
  ExpectAnswerRefused([](wire::Hello* hello) { hello->features = 0x80000000; });
}

TEST_F(HostileServers, ImpossibleNumbersAreRefused) {
  ExpectAnswerRefused([](wire::Hello* hello) { hello->receive_buffer_bytes = 1; });
}

TEST_F(HostileServers, BytesThatAreNoAnswerAreRefused) {
  std::future<absl::Status> call = Call();
  const auto peer = attacker().AcceptWith(wire::BytesOf("what is this?"));
  ASSERT_TRUE(peer.ok()) << peer.status();
  EXPECT_TRUE((*peer)->WaitForEnd());
  EXPECT_FALSE(call.get().ok());
}

TEST_F(HostileServers, ARejectionThatMakesNoSenseIsUnavailable) {
  std::future<absl::Status> call = Call();
  ASSERT_TRUE(attacker().RejectWith(wire::BytesOf("go away")).ok());
  EXPECT_EQ(call.get().code(), absl::StatusCode::kUnavailable);
}

TEST_F(HostileServers, AFrameThatIsNoneFailsTheCall) { ExpectCallFails(wire::BytesOf("abc"), ""); }

TEST_F(HostileServers, CreditsBeyondTheMostFailTheCall) {
  wire::FrameHeader header = ControlHeader(FrameType::kGrant);
  header.credit_grant = 0xffff;
  ExpectCallFails(wire::FrameBytes(header, {}));
}

TEST_F(HostileServers, AFinishOfWhatWasNotAnnouncedFailsTheCall) {
  ExpectCallFails(Finish(0, 1, wire::FinishReason::kFetched));
}

TEST_F(HostileServers, ARequestFromTheServerFailsTheCall) { ExpectCallFails(EchoRequest(1), ""); }

TEST_F(HostileServers, FramesBeyondTheCreditsFailTheCall) {
  std::future<absl::Status> call = Call();
  const std::unique_ptr<HostilePeer> peer = AcceptCall();
  ASSERT_NE(peer, nullptr);
  for (int i = 0; i < 3000; ++i) peer->Send(Control(FrameType::kPing));
  EXPECT_FALSE(call.get().ok());
}

TEST_F(HostileServers, AnAnnouncementOfMemoryThatIsNotThereFailsTheCall) {
  std::future<absl::Status> call = Call();
  const std::unique_ptr<HostilePeer> peer = AcceptCall();
  ASSERT_NE(peer, nullptr);
  wire::Segment segment = peer->Shared(0, 100000);
  segment.key ^= 0x8001;
  peer->Send(ResponseAnnouncement(call_id_, 0, {segment}));
  EXPECT_TRUE(peer->WaitForEnd());
  EXPECT_EQ(call.get().code(), absl::StatusCode::kUnavailable);
}

TEST_F(HostileServers, AnAnnouncementOfAnotherIdentityFailsTheCallAndTheConnectionLives) {
  std::future<absl::Status> call = Call();
  const std::unique_ptr<HostilePeer> peer = AcceptCall();
  ASSERT_NE(peer, nullptr);
  WriteIdentity(peer->epoch() + 1, call_id_, 100000 - wire::kIdentityBytes, peer->shared_memory().data());
  peer->Send(ResponseAnnouncement(call_id_, 0, {peer->Shared(0, 100000)}));
  const std::optional<HostilePeer::Frame> finish = peer->Receive(FrameType::kFinish);
  ASSERT_TRUE(finish.has_value());
  EXPECT_EQ(static_cast<wire::FinishReason>(finish->header.message_kind), wire::FinishReason::kFailed);
  EXPECT_FALSE(call.get().ok());
  peer->Send(Control(FrameType::kPing));
  EXPECT_TRUE(peer->Receive(FrameType::kPong).has_value());
}

TEST_F(HostileServers, AGoodbyeWithUnprintableWordsFailsTheCallInPrintableOnes) {
  wire::FrameHeader header = ControlHeader(FrameType::kGoodbye, static_cast<uint32_t>(wire::GoodbyeReason::kShutdown));
  const Bytes words = wire::BytesOf("bye\n\x1b[2J");
  header.call_header_bytes = static_cast<uint16_t>(words.size());
  ExpectCallFails(wire::FrameBytes(header, {words}), "bye??[2J");
}

TEST_F(HostileServers, WhatTheClientExportsIsNotWritable) {
  std::future<absl::Status> call = Call(100000);
  const auto peer = attacker().Accept();
  ASSERT_TRUE(peer.ok()) << peer.status();
  const std::optional<HostilePeer::Frame> request = (*peer)->Receive(FrameType::kAnnounce);
  ASSERT_TRUE(request.has_value());
  EXPECT_EQ((*peer)->Touch(IBV_WR_RDMA_WRITE, request->segments.front()), IBV_WC_REM_ACCESS_ERR);
  (*peer)->Disconnect();
  EXPECT_FALSE(call.get().ok());
}

}  // namespace
}  // namespace verbena::hostile
