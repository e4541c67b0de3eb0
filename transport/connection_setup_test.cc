#include "transport/connection_setup.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <memory>
#include <optional>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "transport/cm_channel.h"
#include "transport/event_loop.h"
#include "transport/verbs/fake_verbs_api.h"

namespace verbena::transport {
namespace {

constexpr absl::Duration kTimeout = absl::Milliseconds(500);

// Waits for what the test says, or for ever.
class TestedSetup : public ConnectionSetup {
 public:
  using ConnectionSetup::Begin;
  using ConnectionSetup::ConnectionSetup;
  using ConnectionSetup::Finish;
  std::optional<absl::Status> outcome;

 private:
  void OnEvent(verbs::CmEvent&) override {}
  void Done(absl::StatusOr<std::unique_ptr<Connection>> made) override { outcome = made.status(); }
  absl::string_view Waiting() const override { return "the test"; }
};

class ConnectionSetupTest : public testing::Test {
 protected:
  ConnectionSetupTest() {
    close(std::exchange(fake_.descriptor, eventfd(0, 0)));
    channel_ = *CmChannel::For(loop_.get(), fake_.api());
    TransportOptions options;
    options.handshake_timeout = kTimeout;
    setup_ = std::make_shared<TestedSetup>(loop_.get(), DeviceCandidate{&fake_.api(), Scheme::kSoft, ""}, options,
                                           AuthenticationPolicy());
  }
  // More and more to do for the channel, until `done`.
  void KeepBehind(absl::FunctionRef<bool()> done) {
    absl::SleepFor(2 * CmChannel::kTurnMax);
    if (!done()) channel_->HandleSoon([this, done] { KeepBehind(done); });
  }
  // Begins the set-up and, if it says, what goes on beside. Returns how long it took to its end.
  absl::Duration RunToItsEnd(absl::FunctionRef<void()> beside = [] {}) {
    absl::Time begin;
    loop_->Post([&] {
      begin = loop_->ReadNow();
      setup_->Begin(channel_);
      beside();
    });
    const absl::Time end = absl::Now() + 20 * kTimeout;
    loop_->RunUntil([&] { return setup_->outcome.has_value() || absl::Now() > end; });
    if (!setup_->outcome.has_value()) setup_->outcome = absl::InternalError("it did not end");
    return loop_->ReadNow() - begin;
  }

  verbs::FakeVerbs fake_;
  std::unique_ptr<EventLoop> loop_ = *EventLoop::Create({.wait = WaitPolicy::kBusy});
  CmChannel* channel_ = nullptr;
  std::shared_ptr<TestedSetup> setup_;
};

TEST_F(ConnectionSetupTest, GivesUpWhenTheTimeIsUp) {
  EXPECT_GE(RunToItsEnd(), kTimeout);
  EXPECT_EQ(setup_->outcome->message(),
            "no connection within the handshake_timeout of 500ms: still waiting for the test");
}

TEST_F(ConnectionSetupTest, HasMoreTimeForWhatHasComeAndIsNotHandledYet) {
  absl::Time time_is_up;
  const auto answered = [&] {
    if (loop_->ReadNow() < time_is_up + absl::Milliseconds(100)) return false;
    setup_->Finish(absl::AlreadyExistsError("answered"));
    return true;
  };
  const auto keep_behind = [&] {
    time_is_up = loop_->ReadNow() + kTimeout;
    KeepBehind(answered);
  };
  EXPECT_GE(RunToItsEnd(keep_behind), kTimeout);
  EXPECT_EQ(setup_->outcome->message(), "answered");
}

TEST_F(ConnectionSetupTest, WaitsNoLongerThanTwiceForALoopThatNeverCatchesUp) {
  const auto given_up = [this] { return setup_->outcome.has_value(); };
  EXPECT_GE(RunToItsEnd([&] { KeepBehind(given_up); }), 2 * kTimeout);
  EXPECT_EQ(*setup_->outcome,
            absl::DeadlineExceededError(
                "no connection within twice the handshake_timeout of 500ms: still waiting for the test"));
}

}  // namespace
}  // namespace verbena::transport
