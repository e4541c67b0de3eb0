#include "transport/connection_setup.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <memory>
#include <optional>
#include <utility>

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
    fake_.descriptor = descriptor_;
    channel_ = *CmChannel::For(loop_.get(), fake_.api());
    TransportOptions options;
    options.handshake_timeout = kTimeout;
    setup_ = std::make_shared<TestedSetup>(loop_.get(), DeviceCandidate{&fake_.api(), Scheme::kSoft, ""}, options,
                                           AuthenticationPolicy());
  }
  ~ConnectionSetupTest() override {
    loop_.reset();
    close(descriptor_);
  }

  // More and more to do for the channel, until `done`.
  void KeepBehind(absl::FunctionRef<bool()> done) {
    absl::SleepFor(2 * CmChannel::kTurnMax);
    if (!done()) channel_->HandleSoon([this, done] { KeepBehind(done); });
  }
  // From the beginning of the set-up to its end.
  absl::Duration RunToItsEnd() {
    const absl::Time begin = absl::Now();
    loop_->RunUntil([&] { return setup_->outcome.has_value() || absl::Now() > begin + 20 * kTimeout; });
    EXPECT_TRUE(setup_->outcome.has_value());
    return absl::Now() - begin;
  }

  verbs::FakeVerbs fake_;
  const int descriptor_ = eventfd(0, 0);
  std::unique_ptr<EventLoop> loop_ = *EventLoop::Create({});
  CmChannel* channel_ = nullptr;
  std::shared_ptr<TestedSetup> setup_;
};

TEST_F(ConnectionSetupTest, GivesUpWhenTheTimeIsUp) {
  loop_->Post([this] { setup_->Begin(channel_); });
  EXPECT_GE(RunToItsEnd(), kTimeout);
  EXPECT_EQ(setup_->outcome->message(),
            "no connection within the handshake_timeout of 500ms: still waiting for the test");
}

TEST_F(ConnectionSetupTest, HasMoreTimeForWhatHasComeAndIsNotHandledYet) {
  const auto answered = [this, begin = absl::Now()] {
    if (absl::Now() - begin < kTimeout + absl::Milliseconds(100)) return false;
    setup_->Finish(absl::AlreadyExistsError("answered"));
    return true;
  };
  loop_->Post([&] {
    setup_->Begin(channel_);
    KeepBehind(answered);
  });
  EXPECT_GE(RunToItsEnd(), kTimeout);
  EXPECT_EQ(setup_->outcome->message(), "answered");
}

TEST_F(ConnectionSetupTest, WaitsNoLongerThanTwiceForALoopThatNeverCatchesUp) {
  const auto given_up = [this] { return setup_->outcome.has_value(); };
  loop_->Post([&] {
    setup_->Begin(channel_);
    KeepBehind(given_up);
  });
  EXPECT_GE(RunToItsEnd(), 2 * kTimeout);
  EXPECT_EQ(setup_->outcome->code(), absl::StatusCode::kDeadlineExceeded);
}

}  // namespace
}  // namespace verbena::transport
