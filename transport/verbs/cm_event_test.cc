#include "transport/verbs/cm_event.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <string>

#include "transport/verbs/fake_verbs_api.h"

namespace verbena::verbs {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class CmEventTest : public ::testing::Test {
 protected:
  // Raises `raw` and reads it.
  CmEvent Read(const rdma_cm_event& raw) {
    fake_.cm_events.push_back(raw);
    absl::StatusOr<std::optional<CmEvent>> event = channel_->NextEvent();
    EXPECT_TRUE(event.ok() && event->has_value());
    return **std::move(event);
  }

  // A connect request with an id of its own, as the connection manager makes one.
  rdma_cm_event Request() {
    auto* id = new rdma_cm_id();
    fake_.Add(id, "id");
    rdma_cm_event event = {};
    event.event = RDMA_CM_EVENT_CONNECT_REQUEST;
    event.id = id;
    event.listen_id = &listener_;
    event.param.conn.private_data = "hello";
    event.param.conn.private_data_len = 5;
    event.param.conn.responder_resources = 4;
    event.param.conn.initiator_depth = 8;
    return event;
  }

  FakeVerbs fake_;
  rdma_cm_id listener_ = {};
  absl::StatusOr<CmEventChannel> channel_ = CmEventChannel::Create(fake_.api());
};

TEST_F(CmEventTest, NoEventIsNoError) {
  absl::StatusOr<std::optional<CmEvent>> event = channel_->NextEvent();
  ASSERT_TRUE(event.ok());
  EXPECT_FALSE(event->has_value());
}

TEST_F(CmEventTest, FailureToReadIsAnError) {
  fake_.cm_events.emplace_back();
  fake_.Fail("cm_get_event", EBADF);
  EXPECT_THAT(channel_->NextEvent().status().message(), HasSubstr("rdma_get_cm_event failed: Bad file descriptor"));
}

TEST_F(CmEventTest, RequestIsCopiedAndAcknowledgedAtOnce) {
  CmEvent event = Read(Request());
  EXPECT_EQ(fake_.CountOf("cm_ack_event"), 1);
  EXPECT_EQ(event.id(), &listener_);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(event.private_data().data()), event.private_data().size()),
            "hello");
  EXPECT_EQ(event.responder_resources(), 4);
  EXPECT_EQ(event.initiator_depth(), 8);
}

TEST_F(CmEventTest, TakenRequestBelongsToTheTaker) {
  {
    rdma_cm_event raw = Request();
    CmEvent event = Read(raw);
    ConnectionId id = event.TakeRequest();
    EXPECT_EQ(id.get(), raw.id);
  }
  EXPECT_THAT(fake_.destroyed(), ElementsAre("event", "id"));
}

TEST_F(CmEventTest, RequestThatNobodyTakesIsDestroyedAfterItsAcknowledgement) {
  { Read(Request()); }
  EXPECT_THAT(fake_.destroyed(), ElementsAre("event", "id"));
}

TEST_F(CmEventTest, ParametersOfOtherEventsAreNotTouched) {
  rdma_cm_event raw = {};
  raw.event = RDMA_CM_EVENT_DISCONNECTED;
  raw.param.conn.private_data = reinterpret_cast<const void*>(1);
  raw.param.conn.private_data_len = 200;
  EXPECT_EQ(Read(raw).private_data().size(), 0u);
}

TEST_F(CmEventTest, LongestPrivateDataFits) {
  std::string text(255, 'x');
  rdma_cm_event raw = {};
  raw.event = RDMA_CM_EVENT_REJECTED;
  raw.param.conn.private_data = text.data();
  raw.param.conn.private_data_len = 255;
  EXPECT_EQ(Read(raw).private_data().size(), 255u);
}

absl::Status FailureOf(rdma_cm_event_type type, int status) {
  FakeVerbs fake;
  rdma_cm_event raw = {};
  raw.event = type;
  raw.status = status;
  return CmEvent(fake.api(), raw).Failure();
}

TEST(CmEventFailure, ReasonsAreWords) {
  EXPECT_EQ(FailureOf(RDMA_CM_EVENT_REJECTED, 28),
            absl::UnavailableError("connection rejected: by the peer's program"));
  EXPECT_EQ(FailureOf(RDMA_CM_EVENT_REJECTED, 8),
            absl::UnavailableError("connection rejected: nobody listens on that port"));
  EXPECT_EQ(FailureOf(RDMA_CM_EVENT_REJECTED, 3).message(),
            "connection rejected: the peer has no room: a full backlog, or a limit of its process or device");
  EXPECT_EQ(FailureOf(RDMA_CM_EVENT_REJECTED, 7), absl::UnavailableError("connection rejected: reason 7"));
  EXPECT_EQ(FailureOf(RDMA_CM_EVENT_REJECTED, -ECONNREFUSED),
            absl::UnavailableError("connection rejected: Connection refused"));
  EXPECT_EQ(FailureOf(RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT),
            absl::UnavailableError("peer unreachable: Connection timed out"));
  EXPECT_EQ(FailureOf(RDMA_CM_EVENT_ADDR_ERROR, -ENODEV),
            absl::UnavailableError("address not resolved: No such device"));
}

TEST(CmEventFailure, LossIsUnavailable) {
  EXPECT_EQ(FailureOf(RDMA_CM_EVENT_DISCONNECTED, 0), absl::UnavailableError("disconnected"));
  EXPECT_EQ(FailureOf(RDMA_CM_EVENT_DEVICE_REMOVAL, 0), absl::UnavailableError("device removed"));
}

TEST(CmEventFailure, ProgressIsNoFailure) {
  EXPECT_TRUE(FailureOf(RDMA_CM_EVENT_ADDR_RESOLVED, 0).ok());
  EXPECT_TRUE(FailureOf(RDMA_CM_EVENT_ESTABLISHED, 0).ok());
  EXPECT_TRUE(FailureOf(RDMA_CM_EVENT_TIMEWAIT_EXIT, 0).ok());
}

TEST(CmEventType, EveryTypeHasWords) {
  for (int type = RDMA_CM_EVENT_ADDR_RESOLVED; type <= RDMA_CM_EVENT_TIMEWAIT_EXIT; ++type) {
    EXPECT_NE(ToString(static_cast<rdma_cm_event_type>(type)), "unknown connection-manager event") << type;
  }
}

}  // namespace
}  // namespace verbena::verbs
