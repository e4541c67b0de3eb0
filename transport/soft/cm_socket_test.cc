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
  std::vector<std::byte> bytes(kCmMessageBytesMax + 1);
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

class ListeningSocket : public ::testing::Test {
 protected:
  static SocketAddress V4(uint8_t last, uint16_t port) {
    SocketAddress address = SocketAddress::Wildcard(AF_INET, port);
    address.address = {127, 0, 0, last};
    return address;
  }

  // Bound to any port of 127.0.0.`last`.
  SocketAddress Bind(uint8_t last) {
    SocketAddress address = V4(last, 60001);
    while (BindAddress(address, &listening_) != 0) ++address.port;
    return address;
  }

  UniqueFd listening_;
  UniqueFd client_;
  UniqueFd accepted_;
  ucred peer_ = {};
};

TEST_F(ListeningSocket, IsReachedByProcessesOfTheSameUser) {
  SocketAddress address = Bind(1);
  EXPECT_EQ(ConnectToAddress(address, &client_, &peer_), ECONNREFUSED) << "bound, but not listening";
  ASSERT_EQ(ListenAtAddress(listening_.get()), 0);
  EXPECT_EQ(AcceptPeer(listening_.get(), &accepted_, &peer_), EAGAIN);
  ASSERT_EQ(ConnectToAddress(address, &client_, &peer_), 0);
  EXPECT_EQ(peer_.pid, getpid());
  peer_ = {};
  ASSERT_EQ(AcceptPeer(listening_.get(), &accepted_, &peer_), 0);
  EXPECT_EQ(peer_.pid, getpid());
  UniqueFd second;
  EXPECT_EQ(BindAddress(address, &second), EADDRINUSE);
}

TEST_F(ListeningSocket, OfTheWildcardIsReachedUnlessTheAddressHasOne) {
  SocketAddress specific = Bind(1);
  UniqueFd wildcard;
  ASSERT_EQ(BindAddress(SocketAddress::Wildcard(AF_INET, specific.port), &wildcard), 0);
  ASSERT_EQ(ListenAtAddress(wildcard.get()), 0);
  ASSERT_EQ(ConnectToAddress(specific, &client_, &peer_), 0) << "the specific one does not listen";
  EXPECT_EQ(AcceptPeer(wildcard.get(), &accepted_, &peer_), 0);
  ASSERT_EQ(ListenAtAddress(listening_.get()), 0);
  ASSERT_EQ(ConnectToAddress(specific, &client_, &peer_), 0);
  EXPECT_EQ(AcceptPeer(listening_.get(), &accepted_, &peer_), 0);
  ASSERT_EQ(ConnectToAddress(V4(2, specific.port), &client_, &peer_), 0);
  EXPECT_EQ(AcceptPeer(wildcard.get(), &accepted_, &peer_), 0);
}

}  // namespace
}  // namespace verbena::soft
