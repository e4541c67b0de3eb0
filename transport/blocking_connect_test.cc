#include "transport/blocking_connect.h"

#include <array>
#include <cerrno>
#include <optional>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "transport/verbs/cm_event_channel.h"
#include "transport/verbs/fake_verbs_api.h"

namespace verbena::transport {
namespace {

using ::testing::HasSubstr;

class BlockingConnectTest : public ::testing::Test {
 protected:
  absl::StatusOr<std::shared_ptr<BlockingConnect>> Start() {
    constexpr std::array kPrivateData = {std::byte{'h'}, std::byte{'i'}};  // Gone before the call is made, perhaps.
    const std::array private_data = kPrivateData;
    verbs::ConnectionParameters parameters;
    parameters.private_data = private_data;
    return BlockingConnect::Start(loop_.get(), &*id_, parameters,
                                  [this](const absl::Status& status) { returned_ = status; });
  }

  verbs::FakeVerbs fake_;
  absl::StatusOr<verbs::CmEventChannel> channel_ = verbs::CmEventChannel::Create(fake_.api());
  absl::StatusOr<verbs::ConnectionId> id_ = verbs::ConnectionId::Create(*channel_);
  std::unique_ptr<EventLoop> loop_ = *EventLoop::Create({});
  std::optional<absl::Status> returned_;
};

TEST_F(BlockingConnectTest, TheLoopIsToldThatTheCallHasReturned) {
  const auto connect = Start();
  ASSERT_TRUE(connect.ok()) << connect.status();
  loop_->RunUntil([this] { return returned_.has_value(); });
  EXPECT_EQ(*returned_, absl::OkStatus());
  EXPECT_EQ(fake_.private_data, "hi");
}

TEST_F(BlockingConnectTest, TheLoopIsToldWhyTheCallFailed) {
  fake_.Fail("cm_connect", ECONNREFUSED);
  const auto connect = Start();
  ASSERT_TRUE(connect.ok()) << connect.status();
  loop_->RunUntil([this] { return returned_.has_value(); });
  EXPECT_THAT(std::string(returned_->message()), HasSubstr("rdma_connect failed: Connection refused"));
}

TEST_F(BlockingConnectTest, DestroyedBeforeItWaitsForTheCallAndTellsNobody) {
  auto connect = Start();
  ASSERT_TRUE(connect.ok()) << connect.status();
  connect->reset();
  EXPECT_EQ(fake_.CountOf("cm_connect"), 1);
  bool later = false;
  loop_->Post([&later] { later = true; });
  loop_->RunUntil([&later] { return later; });
  EXPECT_FALSE(returned_.has_value());
}

}  // namespace
}  // namespace verbena::transport
