#include "transport/soft/cm_socket.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "gtest/gtest.h"
#include "transport/soft/testing/open_fds.h"

namespace verbena::soft {
namespace {

class SocketPairTest : public ::testing::Test {
 protected:
  void SetUp() override {
    int ends[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends), 0);
    left_ = UniqueFd(ends[0]);
    right_ = UniqueFd(ends[1]);
  }

  // Raw bytes with `count` descriptors, which SendMessage would never send.
  void SendRaw(const std::vector<std::byte>& bytes, int count) {
    iovec part = {const_cast<std::byte*>(bytes.data()), bytes.size()};
    std::vector<std::byte> control(CMSG_SPACE(count * sizeof(int)));
    msghdr header = {};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = control.data();
    header.msg_controllen = control.size();
    cmsghdr* rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(count * sizeof(int));
    std::vector<int> fds(count, left_.get());
    memcpy(CMSG_DATA(rights), fds.data(), count * sizeof(int));
    ASSERT_EQ(sendmsg(left_.get(), &header, 0), static_cast<ssize_t>(bytes.size()));
  }

  UniqueFd left_;
  UniqueFd right_;
};

CmMessage Reply(size_t offer_bytes) {
  CmMessage message;
  message.type = MessageType::kReply;
  message.offer.resize(offer_bytes);
  return message;
}

TEST_F(SocketPairTest, MessageArrivesWithItsDescriptors) {
  std::vector<UniqueFd> fds;
  for (size_t i = 0; i < kLinkOfferFdsMax; ++i) fds.emplace_back(open("/dev/null", O_RDONLY | O_CLOEXEC));
  ASSERT_EQ(SendMessage(left_.get(), Reply(kLinkOfferBytesMax), fds), 0);
  ReceivedMessage received;
  ASSERT_EQ(ReceiveMessage(right_.get(), &received), Receipt::kMessage);
  EXPECT_EQ(received.message.offer.size(), kLinkOfferBytesMax);
  ASSERT_EQ(received.fds.size(), kLinkOfferFdsMax);
  EXPECT_EQ(fcntl(received.fds[0].get(), F_GETFD), FD_CLOEXEC);
  EXPECT_EQ(ReceiveMessage(right_.get(), &received), Receipt::kNothing);
}

TEST_F(SocketPairTest, SurplusDescriptorsAreClosedAndThePeerRefused) {
  size_t before = OpenFds();
  SendRaw(EncodeMessage(Reply(0)), kLinkOfferFdsMax + 3);
  {
    ReceivedMessage received;
    EXPECT_EQ(ReceiveMessage(right_.get(), &received), Receipt::kMalformed);
  }
  EXPECT_EQ(OpenFds(), before);
}

TEST_F(SocketPairTest, DescriptorsWithTypeThatHasNoneAreRefused) {
  CmMessage message;
  message.type = MessageType::kReadyToUse;
  size_t before = OpenFds();
  SendRaw(EncodeMessage(message), 1);
  {
    ReceivedMessage received;
    EXPECT_EQ(ReceiveMessage(right_.get(), &received), Receipt::kMalformed);
  }
  EXPECT_EQ(OpenFds(), before);
}

TEST_F(SocketPairTest, LongerThanAnyMessageIsMalformed) {
  std::vector<std::byte> bytes(kMessageBytesMax + 1);
  ASSERT_GT(send(left_.get(), bytes.data(), bytes.size(), 0), 0);
  ReceivedMessage received;
  EXPECT_EQ(ReceiveMessage(right_.get(), &received), Receipt::kMalformed);
}

TEST_F(SocketPairTest, MessagesBeforeTheEndAreStillRead) {
  ASSERT_EQ(SendMessage(right_.get(), Reply(1), {}), 0);  // Left unread: the end becomes a reset.
  ASSERT_EQ(SendMessage(left_.get(), Reply(2), {}), 0);
  left_.Reset();
  ReceivedMessage received;
  ASSERT_EQ(ReceiveMessage(right_.get(), &received), Receipt::kMessage);
  EXPECT_EQ(received.message.offer.size(), 2u);
  EXPECT_EQ(ReceiveMessage(right_.get(), &received), Receipt::kEnd);
}

TEST(PortSocket, ConnectsToListenerOfTheSameUser) {
  UniqueFd port;
  uint16_t number = 60001;
  while (BindPort(number, &port) != 0) ++number;
  UniqueFd client;
  UniqueFd accepted;
  ucred peer = {};
  EXPECT_EQ(ConnectToPort(number, &client, &peer), ECONNREFUSED) << "bound, but not listening";
  ASSERT_EQ(ListenOnPort(port.get()), 0);
  EXPECT_EQ(AcceptPeer(port.get(), &accepted, &peer), EAGAIN);
  ASSERT_EQ(ConnectToPort(number, &client, &peer), 0);
  EXPECT_EQ(peer.pid, getpid());
  peer = {};
  ASSERT_EQ(AcceptPeer(port.get(), &accepted, &peer), 0);
  EXPECT_EQ(peer.pid, getpid());
  UniqueFd second;
  EXPECT_EQ(BindPort(number, &second), EADDRINUSE);
}

}  // namespace
}  // namespace verbena::soft
