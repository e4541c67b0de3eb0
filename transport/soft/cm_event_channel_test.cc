#include "transport/soft/cm_event_channel.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <cerrno>
#include <future>
#include <thread>

#include "gtest/gtest.h"
#include "transport/soft/cm_id.h"

namespace verbena::soft {
namespace {

// A signal without a deed, with which a test ends a thread's sleep.
class WakingSignal {
 public:
  WakingSignal() {
    struct sigaction to_wake = {};
    to_wake.sa_handler = [](int) {};
    EXPECT_EQ(sigaction(SIGUSR1, &to_wake, &before_), 0);
  }
  ~WakingSignal() { sigaction(SIGUSR1, &before_, nullptr); }
  // Again and again, as the first may come before the sleep.
  void SendUntil(const std::atomic<bool>& woken, std::thread& sleeper) {
    while (!woken) {
      EXPECT_EQ(pthread_kill(sleeper.native_handle(), SIGUSR1), 0);
      std::this_thread::yield();
    }
  }

 private:
  struct sigaction before_ = {};
};

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
  WakingSignal signal;
  int fd = channel_->fd;
  std::atomic<bool> woken{false};
  std::thread reader([&woken, held = EventChannel::Find(channel_.get())] {
    EXPECT_EQ(held->WaitUntilReadable(), EINTR);
    woken = true;
  });
  channel_.reset();
  EXPECT_NE(fcntl(fd, F_GETFD), -1) << "open under the reader";
  signal.SendUntil(woken, reader);
  reader.join();
  EXPECT_EQ(fcntl(fd, F_GETFD), -1) << "closed by the last reader";
}

// The scheduler may keep a reader from its next sleep until its last id and its channel are gone.
TEST_F(EventChannelTest, ReaderThatComesBackAfterDestructionSleepsUntilASignal) {
  WakingSignal signal;
  Push(one_, RDMA_CM_EVENT_DISCONNECTED);
  const rdma_event_channel* channel = channel_.get();
  std::promise<void> read_one;
  std::promise<void> destroyed;
  std::atomic<bool> woken{false};
  std::thread reader([&] {
    EXPECT_EQ(EventChannel::Find(channel)->WaitUntilReadable(), 0);
    read_one.set_value();
    destroyed.get_future().wait();
    EXPECT_EQ(EventChannel::Find(channel), nullptr);
    EXPECT_EQ(EventChannel::WaitForDestroyed(channel), EINTR);
    woken = true;
  });
  read_one.get_future().wait();
  EXPECT_EQ(EventChannel::WaitForDestroyed(channel), EBADF) << "this thread never read it";
  channel_.reset();
  destroyed.set_value();
  signal.SendUntil(woken, reader);
  reader.join();
}

TEST_F(EventChannelTest, WhoDestroysAChannelThatItReadIsTold) {
  Push(one_, RDMA_CM_EVENT_DISCONNECTED);
  EXPECT_EQ(channel_->WaitUntilReadable(), 0);
  const rdma_event_channel* channel = channel_.get();
  channel_.reset();
  EXPECT_EQ(EventChannel::WaitForDestroyed(channel), EBADF);
}

TEST_F(EventChannelTest, ReaderThatDoesNotWaitIsTold) {
  ASSERT_EQ(fcntl(channel_->fd, F_SETFL, O_NONBLOCK), 0);
  const rdma_event_channel* channel = channel_.get();
  EXPECT_EQ(channel_->WaitUntilReadable(), EAGAIN);
  std::thread([this] { channel_.reset(); }).join();
  EXPECT_EQ(EventChannel::WaitForDestroyed(channel), EBADF);
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
