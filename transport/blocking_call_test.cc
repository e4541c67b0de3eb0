#include "transport/blocking_call.h"

#include <atomic>
#include <memory>
#include <optional>
#include <utility>

#include "absl/synchronization/notification.h"
#include "gtest/gtest.h"

namespace verbena::transport {
namespace {

class BlockingCallTest : public ::testing::Test {
 protected:
  std::shared_ptr<BlockingCall> Start(BlockingCall::Call call) {
    auto started =
        BlockingCall::Start(loop_.get(), std::move(call), [this](const absl::Status& status) { returned_ = status; });
    EXPECT_TRUE(started.ok()) << started.status();
    return started.ok() ? *std::move(started) : nullptr;
  }

  std::unique_ptr<EventLoop> loop_ = *EventLoop::Create({});
  std::optional<absl::Status> returned_;
};

TEST_F(BlockingCallTest, TheLoopGoesOnAndIsToldWhatItReturned) {
  absl::Notification end;
  const auto call = Start([&end] {
    end.WaitForNotification();
    return absl::UnavailableError("nobody listens");
  });
  loop_->Post([&end] { end.Notify(); });
  loop_->RunUntil([this] { return returned_.has_value(); });
  EXPECT_EQ(*returned_, absl::UnavailableError("nobody listens"));
}

TEST_F(BlockingCallTest, DestroyedBeforeItWaitsForTheReturnAndTellsNobody) {
  std::atomic<bool> made = false;
  auto call = Start([&made] {
    made = true;
    return absl::OkStatus();
  });
  call.reset();
  EXPECT_TRUE(made);
  bool later = false;
  loop_->Post([&later] { later = true; });
  loop_->RunUntil([&later] { return later; });
  EXPECT_FALSE(returned_.has_value());
}

}  // namespace
}  // namespace verbena::transport
