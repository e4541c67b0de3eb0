#include "transport/soft/cm_event_channel.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <cerrno>
#include <thread>

#include "gtest/gtest.h"
#include "transport/soft/cm_id.h"

namespace verbena::soft {
namespace {

class EventChannelTest : public ::testing::Test {
 protected:
  void Push(CmId& id, rdma_cm_event_type type) {
    auto event = std::make_unique<QueuedEvent>(&id, type, 0);
    event->id = &id;
    channel_->Push(std::move(event));
  }
  bool Readable() const {
    pollfd waiting = {channel_->fd, POLLIN, 0};
    return poll(&waiting, 1, 0) == 1;
  }

  CmId one_{RDMA_PS_TCP};
  CmId two_{RDMA_PS_TCP};
  EventChannel::Owned channel_ = EventChannel::Create();
};

TEST_F(EventChannelTest, IsReadableExactlyWhileAnEventWaits) {
  EXPECT_FALSE(Readable());
  Push(one_, RDMA_CM_EVENT_ESTABLISHED);
  Push(one_, RDMA_CM_EVENT_DISCONNECTED);
  EXPECT_TRUE(Readable());
  EXPECT_EQ(channel_->Pop()->event, RDMA_CM_EVENT_ESTABLISHED);
  EXPECT_TRUE(Readable());
  EXPECT_EQ(channel_->Pop()->event, RDMA_CM_EVENT_DISCONNECTED);
  EXPECT_FALSE(Readable());
  EXPECT_EQ(channel_->Pop(), nullptr);
}

TEST_F(EventChannelTest, TakesTheEventsOfOneIdInOrder) {
  Push(one_, RDMA_CM_EVENT_ADDR_RESOLVED);
  Push(two_, RDMA_CM_EVENT_ESTABLISHED);
  Push(one_, RDMA_CM_EVENT_ROUTE_RESOLVED);
  auto taken = channel_->TakeEventsOf(&one_);
  ASSERT_EQ(taken.size(), 2u);
  EXPECT_EQ(taken[0]->event, RDMA_CM_EVENT_ADDR_RESOLVED);
  EXPECT_EQ(taken[1]->event, RDMA_CM_EVENT_ROUTE_RESOLVED);
  EXPECT_EQ(channel_->Pop()->event, RDMA_CM_EVENT_ESTABLISHED);
  EXPECT_FALSE(Readable());
}

TEST_F(EventChannelTest, WaitingOnNonBlockingDescriptorSaysTryAgain) {
  ASSERT_EQ(fcntl(channel_->fd, F_SETFL, O_NONBLOCK), 0);
  EXPECT_EQ(channel_->WaitUntilReadable(), EAGAIN);
}

TEST_F(EventChannelTest, DestroyedChannelIsNotFound) {
  EXPECT_EQ(EventChannel::Find(channel_.get()).get(), channel_.get());
  const rdma_event_channel* gone = channel_.get();
  int fd = channel_->fd;
  channel_.reset();
  EXPECT_EQ(EventChannel::Find(gone), nullptr);
  EXPECT_EQ(fcntl(fd, F_GETFD), -1);
  EventChannel::Destroy(gone);  // Once more is nothing.
}

// A reader whose channel was destroyed may have been awake, its event taken back: it goes to sleep after that.
TEST_F(EventChannelTest, ReaderOfDestroyedChannelSleepsUntilASignal) {
  struct sigaction to_wake = {};
  to_wake.sa_handler = [](int) {};
  struct sigaction before;
  ASSERT_EQ(sigaction(SIGUSR1, &to_wake, &before), 0);
  int fd = channel_->fd;
  std::atomic<bool> woken{false};
  std::thread reader([&woken, held = EventChannel::Find(channel_.get())] {
    EXPECT_EQ(held->WaitUntilReadable(), EINTR);
    woken = true;
  });
  channel_.reset();
  EXPECT_NE(fcntl(fd, F_GETFD), -1) << "open under the reader";
  while (!woken) {  // The signal may come before the sleep.
    EXPECT_EQ(pthread_kill(reader.native_handle(), SIGUSR1), 0);
    std::this_thread::yield();
  }
  reader.join();
  EXPECT_EQ(fcntl(fd, F_GETFD), -1) << "closed by the last reader";
  sigaction(SIGUSR1, &before, nullptr);
}

TEST_F(EventChannelTest, ParametersAreSeenFromTheReceivingSide) {
  CmMessage message;
  message.parameters.responder_resources = 3;
  message.parameters.initiator_depth = 4;
  QueuedEvent event(&one_, RDMA_CM_EVENT_ESTABLISHED, 0);
  event.SetConnectionParameters(message);
  EXPECT_EQ(event.param.conn.responder_resources, 4);
  EXPECT_EQ(event.param.conn.initiator_depth, 3);
  EXPECT_EQ(event.param.conn.private_data, nullptr);
}

}  // namespace
}  // namespace verbena::soft
