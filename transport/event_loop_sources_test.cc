// The loop's walks over its sources: what each may do while it is polled.

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "transport/event_loop.h"

namespace verbena::transport {
namespace {

// Does what the test says, once.
class WorkingSource : public PollSource {
 public:
  int Poll() override {
    ++polls;
    return work == nullptr ? 0 : (std::exchange(work, nullptr)(), 1);
  }
  void Arm() override {}
  void OnReadable(int) override {}
  absl::AnyInvocable<void()> work;
  int polls = 0;
};

class EventLoopSources : public testing::Test {
 protected:
  EventLoopSources() {
    for (WorkingSource& source : sources_) loop_->AddSource(&source);
  }
  void RunTurns(int count) {
    loop_->RunUntil([&count] { return count-- == 0; });
  }
  void ExpectPolls(int first, int second, int third) {
    EXPECT_EQ(sources_[0].polls, first);
    EXPECT_EQ(sources_[1].polls, second);
    EXPECT_EQ(sources_[2].polls, third);
  }

  const std::unique_ptr<EventLoop> loop_ = *EventLoop::Create({.wait = WaitPolicy::kBusy});
  std::array<WorkingSource, 3> sources_;
};

// Handles so much each time.
class LoadedSource : public PollSource {
 public:
  explicit LoadedSource(int handled) : handled_(handled) {}
  int Poll() override {
    ++polls;
    return handled_;
  }
  void Arm() override {}
  void OnReadable(int fd) override {
    eventfd_t value = 0;
    read = eventfd_read(fd, &value) == 0;
  }
  int polls = 0;
  bool read = false;

 private:
  const int handled_;
};

// The most turns of several spans: the loop has less patience where it was held up.
TEST_F(EventLoopSources, OfTurnsThatHandleMuchFewGoByUntilDescriptorsAreLookedAt) {
  int polls[2] = {};
  for (const int handled : {1, 64}) {
    LoadedSource source(handled);
    const int fd = eventfd(0, EFD_NONBLOCK);
    loop_->AddSource(&source);
    ASSERT_TRUE(loop_->AddFd(fd, &source).ok());
    for (int span = 0; span < 10; ++span) {  // From one look to the next; the first begins between two.
      source.polls = 0;
      source.read = false;
      ASSERT_EQ(eventfd_write(fd, 1), 0);
      loop_->RunUntil([&] { return source.read; });
      if (span > 0) polls[handled == 64] = std::max(polls[handled == 64], source.polls);
    }
    loop_->RemoveFd(fd, &source);
    loop_->RemoveSource(&source);
    close(fd);
  }
  EXPECT_LE(polls[1], 64);
  EXPECT_GT(polls[0], 4 * polls[1]);
}

TEST_F(EventLoopSources, OneMayRemoveItselfWhileItIsPolled) {
  sources_[0].work = [&] { loop_->RemoveSource(&sources_[0]); };
  RunTurns(3);
  ExpectPolls(1, 3, 3);
}

TEST_F(EventLoopSources, OneMayAddAnotherWhichIsPolledNext) {
  WorkingSource added;
  sources_[0].work = [&] { loop_->AddSource(&added); };
  RunTurns(1);
  EXPECT_EQ(added.polls, 1);
  ExpectPolls(1, 1, 1);
}

// The walk within finds the hole that the removed one leaves, and the walk around it goes on behind it.
TEST_F(EventLoopSources, OneMayRunTheLoopWithinItsPollAndRemoveItself) {
  sources_[0].work = [&] {
    loop_->RemoveSource(&sources_[0]);
    RunTurns(1);
    ExpectPolls(1, 1, 1);
  };
  RunTurns(1);
  ExpectPolls(1, 2, 2);
  RunTurns(1);
  ExpectPolls(1, 3, 3);
}

TEST_F(EventLoopSources, ATimerThatBecomesDueWhileSourcesArePolledWaitsForTheNextLookAtThem) {
  bool handled = false;
  int expired = 0;
  loop_->Post([&] {
    for (const int ms : {0, 10}) loop_->AddTimer(loop_->Now() + absl::Milliseconds(ms), [&] { ++expired; });
    sources_[1].work = [&] {
      absl::SleepFor(absl::Milliseconds(20));
      loop_->ReadNow();
      sources_[0].work = [&] {
        handled = true;
        EXPECT_EQ(expired, 1);
      };
    };
  });
  loop_->RunUntil([&] { return expired == 2; });
  EXPECT_TRUE(handled);
}

}  // namespace
}  // namespace verbena::transport
