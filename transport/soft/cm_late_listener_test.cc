// Connects to a listener that is not there yet, with all the patience that a test may need.

#include <poll.h>

#include <cerrno>
#include <memory>
#include <optional>
#include <utility>

#include "gtest/gtest.h"
#include "transport/soft/cm_control_plane.h"
#include "transport/soft/fake_engine.h"

namespace verbena::soft {
namespace {

class CmLateListener : public ::testing::Test {
 protected:
  static ControlLimits PatientLimits() {
    ControlLimits limits;
    limits.listener_patience = std::chrono::seconds(60);
    return limits;
  }

  // The client asks for a connection to the address that the listener is bound to.
  void SetUp() override {
    ASSERT_EQ(plane_.Bind(*listener_, SocketAddress::Wildcard(AF_INET, 0).AsDestination()), 0);
    ASSERT_EQ(plane_.ResolveAddress(*client_, std::nullopt, listener_->source), 0);
    ASSERT_EQ(plane_.ResolveRoute(*client_), 0);
    EXPECT_EQ(Next(), RDMA_CM_EVENT_ADDR_RESOLVED);
    EXPECT_EQ(Next(), RDMA_CM_EVENT_ROUTE_RESOLVED);
    ibv_qp_init_attr attributes = FakeQueuePairAttributes();
    ASSERT_EQ(plane_.MakeQueuePair(*client_, FakeDomain(), &attributes), 0);
    ASSERT_EQ(plane_.Connect(*client_, {}, {}), 0);
  }

  void TearDown() override {
    if (client_ != nullptr) DestroyClient();
    plane_.DestroyId(*listener_);
  }

  void DestroyClient() {
    plane_.DropQueuePair(*client_);
    plane_.DestroyId(*std::exchange(client_, nullptr));
  }

  bool Quiet() const {
    pollfd waiting = {channel_->fd, POLLIN, 0};
    return poll(&waiting, 1, 0) == 0;
  }

  // Of the next event, acknowledged. The id of a connect request is destroyed.
  rdma_cm_event_type Next() {
    rdma_cm_event* event = nullptr;
    EXPECT_EQ(plane_.GetEvent(*channel_, &event), 0);
    rdma_cm_event_type type = event->event;
    auto& id = static_cast<CmId&>(*event->id);
    plane_.AckEvent(std::unique_ptr<QueuedEvent>(static_cast<QueuedEvent*>(event)));
    if (type == RDMA_CM_EVENT_CONNECT_REQUEST) plane_.DestroyId(id);
    return type;
  }

  ControlPlane plane_{PatientLimits()};
  EventChannel::Owned channel_ = EventChannel::Create();
  CmId* listener_ = plane_.CreateId(channel_.get(), nullptr, RDMA_PS_TCP);
  CmId* client_ = plane_.CreateId(channel_.get(), nullptr, RDMA_PS_TCP);
};

TEST_F(CmLateListener, IsReached) {
  EXPECT_TRUE(Quiet()) << "not refused yet";
  ASSERT_EQ(plane_.Listen(*listener_, 0), 0);
  EXPECT_EQ(Next(), RDMA_CM_EVENT_CONNECT_REQUEST);
}

TEST_F(CmLateListener, IsNotConnectedToTwice) {
  EXPECT_EQ(plane_.Connect(*client_, {}, {}), EINVAL);
  EXPECT_EQ(plane_.Disconnect(*client_), EINVAL);
}

TEST_F(CmLateListener, HearsNothingOfAConnectThatWasGivenUp) {
  DestroyClient();
  ASSERT_EQ(plane_.Listen(*listener_, 0), 0);
  EXPECT_TRUE(Quiet());
}

TEST_F(CmLateListener, IsOfNoUseToAQueuePairThatIsGone) {
  plane_.DropQueuePair(*client_);
  EXPECT_EQ(Next(), RDMA_CM_EVENT_CONNECT_ERROR);
}

}  // namespace
}  // namespace verbena::soft
