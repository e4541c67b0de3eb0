// What others may do to the control sockets: garbage, silence, floods, refusals; and what time does to the silent.

#include <fcntl.h>
#include <poll.h>

#include <cerrno>
#include <cstring>

#include "gtest/gtest.h"
#include "transport/soft/cm_control_plane.h"
#include "transport/soft/fake_engine.h"

namespace verbena::soft {
namespace {

using std::chrono::milliseconds;

// A control plane of the test's own, with short limits, that listens on 127.0.0.1.
class CmHostilePeer : public ::testing::Test {
 protected:
  explicit CmHostilePeer(ControlLimits limits = {}) : plane_(limits) {}

  void SetUp() override {
    ASSERT_EQ(plane_.Bind(*listener_, SocketAddress::Wildcard(AF_INET, 0).AsDestination()), 0);
    ASSERT_EQ(plane_.Listen(*listener_, 0), 0);
  }
  void TearDown() override { plane_.DestroyId(*listener_); }

  uint16_t port() const { return listener_->source.port; }

  UniqueFd ConnectRaw() {
    UniqueFd socket;
    ucred peer;
    EXPECT_EQ(ConnectToAddress(listener_->source, &socket, &peer), 0);
    return socket;
  }

  // Waits until the peer's end is closed; false after ten seconds, or if it says something first.
  static bool IsClosed(const UniqueFd& socket) {
    pollfd waiting = {socket.get(), POLLIN, 0};
    char byte;
    return poll(&waiting, 1, 10000) == 1 && recv(socket.get(), &byte, 1, MSG_DONTWAIT) <= 0;
  }

  static CmMessage Request(uint16_t port) {
    CmMessage request;
    request.source = request.destination = SocketAddress::Wildcard(AF_INET, port).AsDestination();
    return request;
  }

  std::unique_ptr<QueuedEvent> Next(EventChannel& channel) {
    pollfd waiting = {channel.fd, POLLIN, 0};
    if (poll(&waiting, 1, 10000) != 1) return nullptr;
    rdma_cm_event* event = nullptr;
    EXPECT_EQ(plane_.GetEvent(channel, &event), 0);
    return std::unique_ptr<QueuedEvent>(static_cast<QueuedEvent*>(event));
  }

  // The listener is still there for an honest peer, whose request it gets.
  void ExpectStillServing() {
    UniqueFd honest = ConnectRaw();
    ASSERT_EQ(SendMessage(honest.get(), Request(port()), {}), 0);
    std::unique_ptr<QueuedEvent> event = Next(*channel_);
    ASSERT_NE(event, nullptr);
    EXPECT_EQ(event->event, RDMA_CM_EVENT_CONNECT_REQUEST);
    auto& request = *static_cast<CmId*>(event->id);
    plane_.AckEvent(std::move(event));
    plane_.DestroyId(request);
  }

  ControlPlane plane_;
  EventChannel::Owned channel_ = EventChannel::Create();
  CmId* listener_ = plane_.CreateId(channel_.get(), nullptr, RDMA_PS_TCP);
};

TEST_F(CmHostilePeer, GarbageClosesThatConnectionOnly) {
  UniqueFd garbler = ConnectRaw();
  ASSERT_GT(send(garbler.get(), "let me in", 9, 0), 0);
  EXPECT_TRUE(IsClosed(garbler));
  ExpectStillServing();
}

TEST_F(CmHostilePeer, ReplyWhereARequestIsDueClosesTheConnection) {
  UniqueFd peer = ConnectRaw();
  CmMessage reply;
  reply.type = MessageType::kReply;
  ASSERT_EQ(SendMessage(peer.get(), reply, {}), 0);
  EXPECT_TRUE(IsClosed(peer));
  ExpectStillServing();
}

TEST_F(CmHostilePeer, SecondRequestOnAConnectionEndsIt) {
  UniqueFd peer = ConnectRaw();
  ASSERT_EQ(SendMessage(peer.get(), Request(port()), {}), 0);
  ASSERT_EQ(SendMessage(peer.get(), Request(port()), {}), 0);
  EXPECT_TRUE(IsClosed(peer));
}

TEST_F(CmHostilePeer, OfferThatTheEngineRefusesIsRejected) {
  UniqueFd peer = ConnectRaw();
  ASSERT_EQ(SendMessage(peer.get(), Request(port()), {}), 0);
  std::unique_ptr<QueuedEvent> event = Next(*channel_);
  ASSERT_NE(event, nullptr);
  auto& request = *static_cast<CmId*>(event->id);
  plane_.AckEvent(std::move(event));
  ibv_qp_init_attr attributes = FakeQueuePairAttributes();
  ASSERT_EQ(plane_.MakeQueuePair(request, FakeDomain(), &attributes), 0);
  EXPECT_EQ(plane_.Accept(request, std::nullopt, {}), EINVAL);
  plane_.DropQueuePair(request);
  plane_.DestroyId(request);
}

// Nobody's time runs out, but there is little room.
class CmCrowded : public CmHostilePeer {
 protected:
  static ControlLimits Limits() {
    ControlLimits limits;
    limits.silence_timeout = std::chrono::minutes(10);
    limits.silent_peers_max = 2;
    return limits;
  }
  CmCrowded() : CmHostilePeer(Limits()) {}
};

TEST_F(CmCrowded, OldestSilentPeerGivesWayToTheNewcomer) {
  UniqueFd first = ConnectRaw();
  UniqueFd second = ConnectRaw();
  UniqueFd third = ConnectRaw();
  EXPECT_TRUE(IsClosed(first));
  ExpectStillServing();
  EXPECT_TRUE(IsClosed(second));
  ASSERT_EQ(SendMessage(third.get(), Request(port()), {}), 0);
  std::unique_ptr<QueuedEvent> event = Next(*channel_);
  ASSERT_NE(event, nullptr);
  auto& request = *static_cast<CmId*>(event->id);
  plane_.AckEvent(std::move(event));
  plane_.DestroyId(request);
}

TEST_F(CmCrowded, SilentPeersOfOneListenerTakeNoRoomOfAnother) {
  CmId* other = plane_.CreateId(channel_.get(), nullptr, RDMA_PS_TCP);
  ASSERT_EQ(plane_.Bind(*other, SocketAddress::Wildcard(AF_INET, 0).AsDestination()), 0);
  ASSERT_EQ(plane_.Listen(*other, 0), 0);
  UniqueFd first;
  UniqueFd second;
  ucred peer;
  ASSERT_EQ(ConnectToAddress(other->source, &first, &peer), 0);
  ASSERT_EQ(ConnectToAddress(other->source, &second, &peer), 0);
  ExpectStillServing();
  ExpectStillServing();
  pollfd ended = {second.get(), POLLIN, 0};
  EXPECT_EQ(poll(&ended, 1, 0), 0);
  plane_.DestroyId(*other);
}

class CmImpatient : public CmHostilePeer {
 protected:
  static ControlLimits Limits() {
    ControlLimits limits;
    limits.answer_timeout = milliseconds(50);
    limits.silence_timeout = milliseconds(50);
    limits.silent_peers_max = 2;
    return limits;
  }
  CmImpatient() : CmHostilePeer(Limits()) {}

  // An id that sent its request to the listener.
  CmId* Connect(EventChannel& channel) {
    CmId* client = plane_.CreateId(&channel, nullptr, RDMA_PS_TCP);
    EXPECT_EQ(plane_.ResolveAddress(*client, std::nullopt, listener_->source), 0);
    EXPECT_EQ(plane_.ResolveRoute(*client), 0);
    plane_.AckEvent(Next(channel));
    plane_.AckEvent(Next(channel));
    ibv_qp_init_attr attributes = FakeQueuePairAttributes();
    EXPECT_EQ(plane_.MakeQueuePair(*client, FakeDomain(), &attributes), 0);
    EXPECT_EQ(plane_.Connect(*client, {}, {}), 0);
    return client;
  }
};

TEST_F(CmImpatient, SilentPeerIsDisconnected) {
  UniqueFd silent = ConnectRaw();
  EXPECT_TRUE(IsClosed(silent));
  ExpectStillServing();
}

TEST_F(CmImpatient, SilentPeersPastTheBoundAreDisconnectedAndLeaveRoomLater) {
  UniqueFd peers[] = {ConnectRaw(), ConnectRaw(), ConnectRaw(), ConnectRaw()};
  for (const UniqueFd& peer : peers) EXPECT_TRUE(IsClosed(peer));
  ExpectStillServing();
}

TEST_F(CmImpatient, RequestThatNobodyAnswersTimesOut) {
  EventChannel::Owned channel = EventChannel::Create();
  CmId* client = Connect(*channel);
  std::unique_ptr<QueuedEvent> event = Next(*channel);
  ASSERT_NE(event, nullptr);
  EXPECT_EQ(event->event, RDMA_CM_EVENT_UNREACHABLE);
  EXPECT_EQ(event->status, -ETIMEDOUT);
  plane_.AckEvent(std::move(event));
  plane_.DropQueuePair(*client);
  plane_.DestroyId(*client);
}

TEST_F(CmImpatient, ReplyThatNobodyConfirmsTimesOut) {
  UniqueFd peer = ConnectRaw();
  CmMessage message = Request(port());
  ibv_qp number = {};
  absl::StatusOr<LinkOffer> offer = MakeOffer(&number, {});
  ASSERT_TRUE(offer.ok());
  message.offer = offer->bytes;
  ASSERT_EQ(SendMessage(peer.get(), message, offer->fds), 0);
  std::unique_ptr<QueuedEvent> event = Next(*channel_);
  ASSERT_NE(event, nullptr);
  auto& request = *static_cast<CmId*>(event->id);
  plane_.AckEvent(std::move(event));
  ibv_qp_init_attr attributes = FakeQueuePairAttributes();
  ASSERT_EQ(plane_.MakeQueuePair(request, FakeDomain(), &attributes), 0);
  ASSERT_EQ(plane_.Accept(request, std::nullopt, {}), 0);
  event = Next(*channel_);
  ASSERT_NE(event, nullptr);
  EXPECT_EQ(event->event, RDMA_CM_EVENT_UNREACHABLE);
  EXPECT_EQ(event->status, -ETIMEDOUT);
  EXPECT_EQ(FakeQueuePairOf(request.qp->qp_num).peer_gone_count, 1);
  plane_.AckEvent(std::move(event));
  plane_.DropQueuePair(request);
  plane_.DestroyId(request);
}

}  // namespace
}  // namespace verbena::soft
