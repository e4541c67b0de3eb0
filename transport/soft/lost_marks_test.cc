// A peer that shares the ready map can clear the marks of others. Whoever sleeps with more queue pairs than are looked
// at in one go hears of their messages all the same.

#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "transport/soft/completion_queue.h"
#include "transport/soft/testing/linked_pair.h"

namespace verbena::soft {
namespace {

constexpr int kPairs = 100;
constexpr int kMessages = 25;  // Of every fourth pair.
constexpr int kPatienceMs = 10'000;

class LostMarks : public testing::Test {
 protected:
  LostMarks() {
    for (int i = 0; i < kPairs; ++i) {
      senders_.push_back(std::make_unique<TestEnd>(EndOptions{.memory_bytes = 4096}));
      receivers_.push_back(
          std::make_unique<TestEnd>(EndOptions{.with_channel = i == 0,
                                               .memory_bytes = 4096,
                                               .receive_queue = i == 0 ? nullptr : receivers_[0]->receive_queue}));
      Link(*senders_.back(), *receivers_.back());
    }
  }
  ~LostMarks() override {
    while (receivers_.size() > 1) receivers_.pop_back();  // The first one has the queue.
  }

  CompletionQueue& queue() { return *static_cast<CompletionQueue*>(receivers_[0]->receive_queue); }

  void ClearMarks() {
    ReadyMemory& marks = queue().ready().mapping().ready();
    marks.summary.store(0);
    for (auto& word : marks.words) word.store(0);
  }

  // As a program that sleeps until its channel is readable.
  std::optional<ibv_wc> AwaitAsleep() {
    pollfd event = {.fd = receivers_[0]->channel->fd, .events = POLLIN, .revents = 0};
    while (poll(&event, 1, kPatienceMs) == 1) {
      NextCompletionEvent(receivers_[0]->channel);
      ibv_req_notify_cq(&queue(), 0);
      if (auto received = TestEnd::Poll(&queue())) return received;
    }
    return std::nullopt;
  }

  std::vector<std::unique_ptr<TestEnd>> senders_;
  std::vector<std::unique_ptr<TestEnd>> receivers_;
};

TEST_F(LostMarks, SleeperHearsOfEveryMessageThoughMarksAreClearedAllTheTime) {
  std::atomic<bool> ending{false};
  std::thread thief([&] {
    while (!ending.load()) ClearMarks();
  });
  for (int i = 0; i < kPairs; i += kPairs / kMessages) {
    receivers_[i]->Receive(i, 0, 64);
    ibv_req_notify_cq(&queue(), 0);
    EXPECT_FALSE(TestEnd::Poll(&queue()).has_value());
    senders_[i]->Send(i, 0, 64, 0);
    std::optional<ibv_wc> received = AwaitAsleep();
    EXPECT_TRUE(received.has_value()) << "message " << i;
    if (!received.has_value()) break;
    EXPECT_EQ(received->wr_id, static_cast<uint64_t>(i));
  }
  ending = true;
  thief.join();
}

}  // namespace
}  // namespace verbena::soft
