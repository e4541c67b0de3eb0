#include "rpc/testing/memory_connection.h"

#include <gtest/gtest.h>

#include <vector>

#include "rpc/testing/manual_loop.h"
#include "rpc/testing/memory_network.h"

namespace verbena::testing {
namespace {

using transport::MessageHead;
using transport::SendOutcome;
using transport::Verdict;

struct Recorder : transport::ConnectionHandler {
  Verdict OnAnnounced(const MessageHead& head) override {
    announced.push_back(head.payload_bytes);
    return verdict;
  }
  void OnMessage(const MessageHead& head, transport::ReceivedPayload& payload) override {
    messages.push_back(std::string(payload.Share(0)));
  }
  void OnFetchFailed(const MessageHead& head, const absl::Status& status) override { ++fetches_failed; }
  void OnSent(const transport::SentMessage& sent, SendOutcome outcome) override { outcomes.push_back(outcome); }
  void OnPeerDraining() override { peer_draining = true; }
  void OnClosed(const absl::Status& status) override { closed.push_back(status); }

  Verdict verdict = Verdict::kFetch;
  std::vector<uint64_t> announced;
  std::vector<std::string> messages;
  std::vector<SendOutcome> outcomes;
  std::vector<absl::Status> closed;
  int fetches_failed = 0;
  bool peer_draining = false;
};

class MemoryConnectionTest : public ::testing::Test {
 protected:
  MemoryConnectionTest() {
    pair_.first->set_handler(&a_);
    pair_.second->set_handler(&b_);
  }
  uint64_t Send(size_t bytes) {
    transport::OutboundMessage message;
    message.call_id = 7;
    message.attachment = absl::Cord(std::string(bytes, 'x'));
    return pair_.first->Send(std::move(message));
  }

  ManualLoop loop_;
  Recorder a_, b_;
  MemoryConnection::Pair pair_ = MemoryConnection::MakePair(&loop_);
};

TEST_F(MemoryConnectionTest, SmallMessageArrivesAndIsReported) {
  Send(5);
  loop_.RunUntilIdle();
  EXPECT_EQ(b_.messages, std::vector<std::string>{"xxxxx"});
  EXPECT_EQ(a_.outcomes, std::vector{SendOutcome::kDelivered});
  EXPECT_TRUE(b_.announced.empty());
}

TEST_F(MemoryConnectionTest, LargeMessageIsAnnouncedAndFetched) {
  Send(10000);
  loop_.RunUntilIdle();
  EXPECT_EQ(b_.announced, std::vector<uint64_t>{10000});
  ASSERT_EQ(b_.messages.size(), 1u);
  EXPECT_EQ(b_.messages[0].size(), 10000u);
  EXPECT_EQ(a_.outcomes, std::vector{SendOutcome::kDelivered});
}

TEST_F(MemoryConnectionTest, RefusedMessageIsNotFetched) {
  b_.verdict = Verdict::kRefuse;
  Send(10000);
  loop_.RunUntilIdle();
  EXPECT_TRUE(b_.messages.empty());
  EXPECT_EQ(a_.outcomes, std::vector{SendOutcome::kRefused});
}

TEST_F(MemoryConnectionTest, CancelledSendIsWithdrawnFromTheFetcher) {
  pair_.second->HoldFetches();
  const uint64_t send = Send(10000);
  loop_.RunUntilIdle();
  pair_.first->CancelSend(send);
  loop_.RunUntilIdle();
  EXPECT_EQ(b_.fetches_failed, 1);
  EXPECT_EQ(a_.outcomes, std::vector{SendOutcome::kUnknown});
}

TEST_F(MemoryConnectionTest, CancelledFetchIsReportedAsRefused) {
  pair_.second->HoldFetches();
  Send(10000);
  loop_.RunUntilIdle();
  pair_.second->CancelFetch(7);
  loop_.RunUntilIdle();
  EXPECT_EQ(b_.fetches_failed, 1);
  EXPECT_EQ(a_.outcomes, std::vector{SendOutcome::kRefused});
}

TEST_F(MemoryConnectionTest, SeveredLinkReportsQueuedAsNotSentAndClosesBoth) {
  pair_.first->Stall();
  Send(1);
  pair_.first->Sever();
  loop_.RunUntilIdle();
  EXPECT_EQ(a_.outcomes, std::vector{SendOutcome::kNotSent});
  ASSERT_EQ(a_.closed.size(), 1u);
  ASSERT_EQ(b_.closed.size(), 1u);
}

TEST_F(MemoryConnectionTest, DrainFinishesWhatIsInFlightFirst) {
  Send(3);
  pair_.first->Drain();
  loop_.RunUntilIdle();
  EXPECT_EQ(a_.outcomes, std::vector{SendOutcome::kDelivered});
  EXPECT_TRUE(b_.peer_draining);
  EXPECT_EQ(a_.closed, std::vector{absl::OkStatus()});
  EXPECT_EQ(b_.closed, std::vector{absl::OkStatus()});
}

TEST_F(MemoryConnectionTest, DestroyedEndClosesThePeer) {
  pair_.first.reset();
  loop_.RunUntilIdle();
  ASSERT_EQ(b_.closed.size(), 1u);
  EXPECT_TRUE(absl::IsUnavailable(b_.closed[0]));
}

TEST(MemoryNetwork, ListenerThatIsGoneAcceptsNothingThatWasOnItsWay) {
  ManualLoop loop;
  MemoryNetwork network(&loop);
  int accepted = 0;
  auto listener = network.Listen("server:1", {}, {&loop}, [&accepted](auto) { ++accepted; }, {});
  ASSERT_TRUE(listener.ok());
  network.Connect("server:1", {}, &loop, [](auto) {}, {});
  while (network.latest_server() == nullptr) ASSERT_TRUE(loop.RunOneTask());
  listener->reset();
  loop.RunUntilIdle();
  EXPECT_EQ(accepted, 0);
}

}  // namespace
}  // namespace verbena::testing
