// What a stranger or a peer may do to a listener's TCP socket: the process serves on.

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "base/little_endian.h"
#include "gtest/gtest.h"
#include "transport/soft/cm_message.h"
#include "transport/soft/stream/handshake.h"
#include "transport/soft/stream/tcp_socket.h"
#include "transport/soft/stream/update.h"
#include "transport/soft/testing/soft_node.h"

namespace verbena::soft {
namespace {

constexpr int kPatienceMs = 10000;

using Bytes = std::vector<std::byte>;

Bytes BytesOf(const std::string& text) {
  const auto* begin = reinterpret_cast<const std::byte*>(text.data());
  return Bytes(begin, begin + text.size());
}

// A TCP client that speaks the protocol as far as a test wants, and then something else.
class RawPeer {
 public:
  explicit RawPeer(uint16_t port) : destination_(SocketAddress::Wildcard(AF_INET, port).AsDestination()) {
    EXPECT_EQ(BeginConnect(SocketAddress::Wildcard(AF_INET, 0), destination_, &socket_), 0);
    pollfd writable = {socket_.get(), POLLOUT, 0};
    EXPECT_EQ(poll(&writable, 1, kPatienceMs), 1);
  }

  void Write(const Bytes& bytes) {
    EXPECT_EQ(send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
  }

  // Exactly so many bytes, or those before the end.
  Bytes Read(size_t count) {
    Bytes bytes(count);
    size_t filled = 0;
    while (filled < count) {
      pollfd readable = {socket_.get(), POLLIN, 0};
      if (poll(&readable, 1, kPatienceMs) != 1) break;
      Transfer transfer = ReadSome(socket_.get(), absl::MakeSpan(bytes).subspan(filled));
      if (transfer.bytes == 0) break;
      filled += transfer.bytes;
    }
    bytes.resize(filled);
    return bytes;
  }

  bool IsHungUpOn() { return Read(1).empty() && !TimedOut(); }

  void SayHello() {
    Handshake handshake(Handshake::Role::kActive, std::nullopt, "", RandomNonce());
    Write(handshake.TakeOutput());
    handshake.Receive(Read(handshake.wanted_bytes()));
    EXPECT_EQ(handshake.state(), Handshake::State::kDone);
  }

  void SendMessage(const CmMessage& message) {
    Bytes body = EncodeMessage(message);
    Bytes framed(4);
    StoreLittleEndian<uint32_t>(static_cast<uint32_t>(body.size()), framed.data());
    framed.insert(framed.end(), body.begin(), body.end());
    Write(framed);
  }

  CmMessage ReadMessage() {
    Bytes length = Read(4);
    return *DecodeMessage(Read(LoadLittleEndian<uint32_t>(length.data())));
  }

  // As an honest end does, with an offer as stream_link.cc lays it out.
  void Request() {
    SayHello();
    CmMessage request;
    request.type = MessageType::kRequest;
    request.parameters.rnr_retry_count = 7;
    request.source = request.destination = destination_;
    request.offer = Bytes(20);
    StoreLittleEndian<uint32_t>(0x4f535356, &request.offer[0]);
    StoreLittleEndian<uint32_t>(2, &request.offer[4]);
    const uint32_t order = 0x01020304;
    std::memcpy(&request.offer[8], &order, sizeof(order));
    SendMessage(request);
  }
  void Confirm() {
    EXPECT_EQ(ReadMessage().type, MessageType::kReply);
    CmMessage ready;
    ready.type = MessageType::kReadyToUse;
    SendMessage(ready);
  }

 private:
  bool TimedOut() {
    pollfd readable = {socket_.get(), POLLIN, 0};
    return poll(&readable, 1, 0) != 1;
  }

  const SocketAddress destination_;
  UniqueFd socket_;
};

class HostileStream : public ::testing::Test {
 protected:
  HostileStream() : listener_(node_.Listen()), port_(node_.PortOf(listener_)) {}

  // An honest pair of programs still gets through, in this process.
  void ExpectServes() {
    SoftNode client;
    client.PostReceive(0);
    rdma_cm_id* id = client.Connect(port_);
    node_.PostReceive(8);
    node_.AcceptNext();
    EXPECT_EQ(client.NextEvent(), RDMA_CM_EVENT_ESTABLISHED);
    EXPECT_EQ(node_.NextEvent(), RDMA_CM_EVENT_ESTABLISHED);
    client.PostSend(id, 1, "still here");
    EXPECT_EQ(node_.NextCompletion().byte_len, 10u);
  }

  // A hostile peer whose connection the victim has accepted.
  std::unique_ptr<RawPeer> Established() {
    auto peer = std::make_unique<RawPeer>(port_);
    peer->Request();
    victim_ = node_.AcceptNext();
    peer->Confirm();
    EXPECT_EQ(node_.NextEvent(), RDMA_CM_EVENT_ESTABLISHED);
    return peer;
  }
  void ExpectVictimDisconnected() {
    EXPECT_EQ(node_.NextEvent(), RDMA_CM_EVENT_DISCONNECTED);
    ExpectServes();
  }

  SoftNode node_;
  rdma_cm_id* const listener_;
  const uint16_t port_;
  rdma_cm_id* victim_ = nullptr;
};

Bytes UpdateBytes(const UpdateHeader& header, const Bytes& payload = {}) {
  UpdateHeaderBytes encoded = EncodeUpdateHeader(header);
  Bytes bytes(encoded.size() + payload.size());
  std::copy(encoded.begin(), encoded.end(), bytes.begin());
  std::copy(payload.begin(), payload.end(), bytes.begin() + kUpdateHeaderBytes);
  return bytes;
}

TEST_F(HostileStream, BrowserIsHungUpOnAtOnce) {
  RawPeer browser(port_);
  browser.Write(BytesOf("GET / HTTP/1.1\r\n\r\n"));
  EXPECT_TRUE(browser.IsHungUpOn());
  ExpectServes();
}

TEST_F(HostileStream, HalfAHelloIsNotWaitedForForEver) {
  RawPeer slow(port_);
  slow.Write({std::byte{0x8e}, std::byte{'V'}});
  ExpectServes();  // Meanwhile.
  EXPECT_TRUE(slow.IsHungUpOn());
}

TEST_F(HostileStream, MessagePastTheLimitIsHungUpOn) {
  RawPeer peer(port_);
  peer.SayHello();
  Bytes length(4);
  StoreLittleEndian<uint32_t>(0x7fffffff, length.data());
  peer.Write(length);
  EXPECT_TRUE(peer.IsHungUpOn());
  ExpectServes();
}

TEST_F(HostileStream, GarbageForAMessageIsHungUpOn) {
  RawPeer peer(port_);
  peer.SayHello();
  Bytes message(4 + 80, std::byte{0x5a});
  StoreLittleEndian<uint32_t>(80, message.data());
  peer.Write(message);
  EXPECT_TRUE(peer.IsHungUpOn());
  ExpectServes();
}

TEST_F(HostileStream, GarbageForAnUpdateEndsThatConnectionOnly) {
  auto peer = Established();
  peer->Write(Bytes(200, std::byte{0xee}));
  node_.NothingCompleted();  // The program looks.
  ExpectVictimDisconnected();
}

TEST_F(HostileStream, ConsumptionOfWhatWasNeverSentEndsThatConnectionOnly) {
  auto peer = Established();
  peer->Write(UpdateBytes({.requests_consumed = 64}));
  node_.NothingCompleted();
  ExpectVictimDisconnected();
}

TEST_F(HostileStream, AcceptanceOfWhatWasNeverSentEndsThatConnectionOnly) {
  auto peer = Established();
  peer->Write(UpdateBytes({.accepted = 7}));
  node_.NothingCompleted();
  peer.reset();
  ExpectVictimDisconnected();
}

TEST_F(HostileStream, ImpossibleRecordEndsThatConnectionOnly) {
  auto peer = Established();
  Bytes payload(64);             // As record.h lays it out.
  payload[0] = std::byte{1};     // A message,
  payload[1] = std::byte{3};     // its first and last record,
  payload[7] = std::byte{0x40};  // of a gigabyte.
  payload[16] = std::byte{1};
  peer->Write(UpdateBytes({.request_bytes = 64}, payload));
  node_.NothingCompleted();
  peer.reset();
  ExpectVictimDisconnected();
}

TEST_F(HostileStream, EndInTheMiddleOfAnUpdateIsADisconnection) {
  auto peer = Established();
  peer->Write(UpdateBytes({.request_bytes = 1024}, Bytes(100)));
  peer.reset();
  ExpectVictimDisconnected();
}

}  // namespace
}  // namespace verbena::soft

int main(int argc, char** argv) {
  setenv("VERBENA_SOFT_FABRIC", "tcp", 1);
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
