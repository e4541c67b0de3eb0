// The handles on a device that works: two ends in one process, from address to flush.

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <vector>

#include "transport/soft/soft_api.h"
#include "transport/verbs/cm_event.h"
#include "transport/verbs/cm_event_channel.h"
#include "transport/verbs/completion_token.h"
#include "transport/verbs/connection_id.h"
#include "transport/verbs/memory_region.h"
#include "transport/verbs/queue_pair.h"
#include "transport/verbs/verbs_error.h"

namespace verbena::verbs {
namespace {

constexpr int kPatienceMs = 5000;
enum class Work : uint8_t { kReceive, kSend, kRead };

template <typename T>
T OrDie(absl::StatusOr<T> made) {
  EXPECT_TRUE(made.ok()) << made.status();
  return *std::move(made);
}

bool WaitReadable(int fd) {
  pollfd entry = {.fd = fd, .events = POLLIN, .revents = 0};
  return poll(&entry, 1, kPatienceMs) == 1;
}

CmEvent NextEvent(CmEventChannel& channel, rdma_cm_event_type expected) {
  while (true) {
    std::optional<CmEvent> event = OrDie(channel.NextEvent());
    if (event.has_value()) {
      EXPECT_EQ(event->type(), expected) << ToString(event->type()) << ", " << event->Failure();
      return *std::move(event);
    }
    EXPECT_TRUE(WaitReadable(channel.fd())) << "no " << ToString(expected);
  }
}

absl::Span<const std::byte> Bytes(absl::string_view text) {
  return absl::MakeConstSpan(reinterpret_cast<const std::byte*>(text.data()), text.size());
}

// One end's objects, in the order that their destruction needs.
struct End {
  explicit End(ConnectionId made)
      : id(std::move(made)),
        device(OrDie(Device::Borrow(id.api(), id.device_context()))),
        domain(OrDie(ProtectionDomain::Create(device))),
        memory(4096),
        region(OrDie(
            MemoryRegion::Register(domain, absl::MakeSpan(memory), IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ))),
        channel(OrDie(CompletionChannel::Create(device))),
        completions(OrDie(CompletionQueue::Create(device, 64, &channel, 0))),
        receives(OrDie(SharedReceiveQueue::Create(domain, 16, 1))),
        pair(OrDie(QueuePair::Create(id, domain,
                                     {.send_completions = &completions,
                                      .receive_completions = &completions,
                                      .shared_receives = &receives,
                                      .sends_max = 16}))) {}

  ibv_sge Segment(size_t offset, uint32_t length) {
    return {.addr = reinterpret_cast<uint64_t>(memory.data()) + offset, .length = length, .lkey = region.lkey()};
  }

  void PostReceive(uint32_t index) {
    ibv_sge segment = Segment(index * 64, 64);
    ibv_recv_wr receive = {};
    receive.wr_id = CompletionToken::Of(Work::kReceive, index, 1).work_request_id();
    receive.sg_list = &segment;
    receive.num_sge = 1;
    ibv_recv_wr* first_unposted = nullptr;
    EXPECT_TRUE(receives.PostReceives(&receive, &first_unposted).ok());
  }

  void PostSend(ibv_send_wr send) {
    send.send_flags |= IBV_SEND_SIGNALED;
    ibv_send_wr* first_unposted = nullptr;
    EXPECT_TRUE(pair.PostSends(&send, &first_unposted).ok());
  }

  // Polls, arms, polls once more and sleeps, as a loop does.
  ibv_wc NextCompletion() {
    std::array<ibv_wc, 1> one = {};
    while (true) {
      if (completions.Poll(absl::MakeSpan(one)) == 1) return one[0];
      EXPECT_TRUE(completions.RequestNotify(false).ok());
      if (completions.Poll(absl::MakeSpan(one)) == 1) return one[0];
      if (!WaitReadable(channel.fd())) {
        ADD_FAILURE() << "no completion";
        return one[0];
      }
      EXPECT_EQ(OrDie(channel.NextEvent()), completions.get());
    }
  }

  ConnectionId id;
  Device device;
  ProtectionDomain domain;
  std::vector<std::byte> memory;
  MemoryRegion region;
  CompletionChannel channel;
  CompletionQueue completions;
  SharedReceiveQueue receives;
  QueuePair pair;
};

class SoftDeviceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
    ASSERT_TRUE(listener_.Bind(reinterpret_cast<sockaddr*>(&address)).ok());
    ASSERT_TRUE(listener_.Listen(4).ok());
    address.sin_port = htons(listener_.LocalPort());

    ConnectionId id = OrDie(ConnectionId::Create(client_events_));
    ASSERT_TRUE(id.ResolveAddress(nullptr, reinterpret_cast<sockaddr*>(&address), absl::Seconds(2)).ok());
    NextEvent(client_events_, RDMA_CM_EVENT_ADDR_RESOLVED);
    ASSERT_TRUE(id.ResolveRoute(absl::Seconds(2)).ok());
    NextEvent(client_events_, RDMA_CM_EVENT_ROUTE_RESOLVED);
    client_.emplace(std::move(id));
    ASSERT_TRUE(client_->id.Connect({.private_data = Bytes("hello"), .rnr_retry_count = 0}).ok());
    CmEvent request = NextEvent(server_events_, RDMA_CM_EVENT_CONNECT_REQUEST);
    EXPECT_EQ(memcmp(request.private_data().data(), "hello", 5), 0);
    server_.emplace(request.TakeRequest());
  }

  void Accept() {
    ASSERT_TRUE(server_->id.Accept({.private_data = Bytes("welcome"), .rnr_retry_count = 0}).ok());
    CmEvent established = NextEvent(client_events_, RDMA_CM_EVENT_ESTABLISHED);
    EXPECT_EQ(memcmp(established.private_data().data(), "welcome", 7), 0);
    NextEvent(server_events_, RDMA_CM_EVENT_ESTABLISHED);
  }

  CmEventChannel server_events_ = OrDie(CmEventChannel::Create(soft::SoftApi()));
  CmEventChannel client_events_ = OrDie(CmEventChannel::Create(soft::SoftApi()));
  ConnectionId listener_ = OrDie(ConnectionId::Create(server_events_));
  std::optional<End> server_;
  std::optional<End> client_;
};

TEST_F(SoftDeviceTest, TheKernelSaysWhoseProcessThePeerIsWhileThereIsAConnection) {
  EXPECT_FALSE(client_->id.PeerCredentials().ok());
  Accept();
  for (const ConnectionId* id : {&client_->id, &server_->id}) {
    const absl::StatusOr<ucred> peer = id->PeerCredentials();
    ASSERT_TRUE(peer.ok()) << peer.status();
    EXPECT_EQ(peer->pid, getpid());
    EXPECT_EQ(peer->uid, geteuid());
    EXPECT_EQ(peer->gid, getegid());
  }
}

TEST_F(SoftDeviceTest, SendArrivesInAPostedReceive) {
  Accept();
  server_->PostReceive(3);
  memcpy(client_->memory.data(), "ping", 4);
  ibv_sge segment = client_->Segment(0, 4);
  ibv_send_wr send = {};
  send.wr_id = CompletionToken::Of(Work::kSend, 5, 9).work_request_id();
  send.opcode = IBV_WR_SEND;
  send.sg_list = &segment;
  send.num_sge = 1;
  client_->PostSend(send);

  ibv_wc received = server_->NextCompletion();
  EXPECT_EQ(received.status, IBV_WC_SUCCESS) << CompletionError(received, "receive");
  EXPECT_EQ(received.byte_len, 4u);
  EXPECT_EQ(CompletionToken::FromWorkRequestId(received.wr_id), CompletionToken::Of(Work::kReceive, 3, 1));
  EXPECT_EQ(memcmp(server_->memory.data() + 3 * 64, "ping", 4), 0);
  EXPECT_EQ(client_->NextCompletion().wr_id, send.wr_id);
}

TEST_F(SoftDeviceTest, ReadFetchesThePeersMemory) {
  Accept();
  memcpy(client_->memory.data() + 100, "treasure", 8);
  ibv_sge segment = server_->Segment(0, 8);
  ibv_send_wr read = {};
  read.opcode = IBV_WR_RDMA_READ;
  read.sg_list = &segment;
  read.num_sge = 1;
  read.wr.rdma.remote_addr = reinterpret_cast<uint64_t>(client_->memory.data()) + 100;
  read.wr.rdma.rkey = client_->region.rkey();
  server_->PostSend(read);

  ibv_wc fetched = server_->NextCompletion();
  EXPECT_EQ(fetched.status, IBV_WC_SUCCESS) << CompletionError(fetched, "read");
  EXPECT_EQ(memcmp(server_->memory.data(), "treasure", 8), 0);
}

TEST_F(SoftDeviceTest, ReadWithAForgedKeyFails) {
  Accept();
  ibv_sge segment = server_->Segment(0, 8);
  ibv_send_wr read = {};
  read.opcode = IBV_WR_RDMA_READ;
  read.sg_list = &segment;
  read.num_sge = 1;
  read.wr.rdma.remote_addr = reinterpret_cast<uint64_t>(client_->memory.data());
  read.wr.rdma.rkey = client_->region.rkey() ^ 0x5a5a;
  server_->PostSend(read);
  EXPECT_EQ(server_->NextCompletion().status, IBV_WC_REM_ACCESS_ERR);
}

TEST_F(SoftDeviceTest, ErrorStateFlushesAndDisconnectIsReported) {
  Accept();
  ASSERT_TRUE(client_->pair.ModifyToError().ok());
  EXPECT_EQ(OrDie(client_->pair.QueryState()), IBV_QPS_ERR);
  ibv_send_wr send = {};
  send.opcode = IBV_WR_SEND;
  client_->PostSend(send);
  ibv_wc flushed = client_->NextCompletion();
  EXPECT_TRUE(absl::IsCancelled(CompletionError(flushed, "send")));
  ASSERT_TRUE(client_->id.Disconnect().ok());
  NextEvent(server_events_, RDMA_CM_EVENT_DISCONNECTED);
}

TEST_F(SoftDeviceTest, RejectionBringsItsPrivateData) {
  ASSERT_TRUE(server_->id.Reject(Bytes("busy")).ok());
  CmEvent rejected = NextEvent(client_events_, RDMA_CM_EVENT_REJECTED);
  EXPECT_TRUE(absl::IsUnavailable(rejected.Failure()));
  ASSERT_GE(rejected.private_data().size(), 4u);
  EXPECT_EQ(memcmp(rejected.private_data().data(), "busy", 4), 0);
}

}  // namespace
}  // namespace verbena::verbs
