// The connection manager together with the engine: bytes over what it connects.

#include <fcntl.h>
#include <poll.h>
#include <rdma/rdma_verbs.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include "gtest/gtest.h"
#include "transport/soft/cm_api.h"
#include "transport/soft/control_path.h"
#include "transport/soft/device.h"
#include "transport/soft/extended_calls.h"

namespace verbena::soft {
namespace {

constexpr int kPatienceMs = 10000;

ibv_qp_init_attr Wish() {
  ibv_qp_init_attr wish = {};
  wish.qp_type = IBV_QPT_RC;
  wish.cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1, .max_inline_data = 64};
  wish.sq_sig_all = 1;
  return wish;
}

// An endpoint with a registered buffer in the id's own protection domain.
class Party {
 public:
  explicit Party(rdma_cm_id* id) : id_(id) {
    region_ = RegisterMemory(id->pd, buffer_.data(), buffer_.size(), IBV_ACCESS_LOCAL_WRITE);
    EXPECT_NE(region_, nullptr);
  }
  ~Party() {
    CmDestroyQp(id_);
    EXPECT_EQ(DeregisterMemory(region_), 0);
    CmDestroyEp(id_);
  }
  Party(const Party&) = delete;
  Party& operator=(const Party&) = delete;

  rdma_cm_id* id() const { return id_; }
  void Receive() { EXPECT_EQ(rdma_post_recv(id_, nullptr, buffer_.data(), buffer_.size(), region_), 0); }
  void Send(const std::string& text) {
    std::memcpy(buffer_.data(), text.data(), text.size());
    EXPECT_EQ(rdma_post_send(id_, nullptr, buffer_.data(), text.size(), region_, 0), 0);
  }
  std::string text(size_t length) const { return {buffer_.data(), length}; }

 private:
  rdma_cm_id* const id_;
  std::array<char, 64> buffer_ = {};
  ibv_mr* region_;
};

// The next completion, after sleeping on the channel as rdma_get_recv_comp does.
ibv_wc SleepForCompletion(ibv_comp_channel* channel, ibv_cq* queue) {
  ibv_wc completion = {};
  completion.status = IBV_WC_GENERAL_ERR;
  EXPECT_EQ(ibv_req_notify_cq(queue, 0), 0);
  if (ibv_poll_cq(queue, 1, &completion) == 1) return completion;
  pollfd waiting = {channel->fd, POLLIN, 0};
  EXPECT_EQ(poll(&waiting, 1, kPatienceMs), 1);
  ibv_cq* ready = nullptr;
  void* context = nullptr;
  EXPECT_EQ(GetCompletionEvent(channel, &ready, &context), 0);
  EXPECT_EQ(ready, queue);
  AckCompletionEvents(queue, 1);
  EXPECT_EQ(ibv_poll_cq(queue, 1, &completion), 1);
  return completion;
}

rdma_cm_id* MakeEndpoint(int flags, const std::string& port, ibv_qp_init_attr* wish) {
  rdma_addrinfo hints = {};
  hints.ai_flags = flags | RAI_NUMERICHOST;
  hints.ai_port_space = RDMA_PS_TCP;
  rdma_addrinfo* found = nullptr;
  EXPECT_EQ(CmGetAddrInfo("127.0.0.1", port.c_str(), &hints, &found), 0);
  rdma_cm_id* id = nullptr;
  EXPECT_EQ(CmCreateEp(&id, found, nullptr, wish), 0);
  CmFreeAddrInfo(found);
  return id;
}

std::string PortOf(rdma_cm_id* id) { return std::to_string(be16toh(CmGetSrcPort(id))); }

TEST(CmEngine, EndpointsExchangeMessagesOverTheirOwnCompletionQueues) {
  ibv_qp_init_attr wish = Wish();
  rdma_cm_id* listener = MakeEndpoint(RAI_PASSIVE, "0", &wish);
  ASSERT_EQ(CmListen(listener, 0), 0);
  Party client(MakeEndpoint(0, PortOf(listener), &wish));
  uint8_t ack_timeout = 14;
  ASSERT_EQ(CmSetOption(client.id(), RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &ack_timeout, sizeof(ack_timeout)), 0);
  client.Receive();
  int connected = -1;
  std::thread connecting([&] { connected = CmConnect(client.id(), nullptr); });
  rdma_cm_id* taken = nullptr;
  ASSERT_EQ(CmGetRequest(listener, &taken), 0);
  Party server(taken);
  server.Receive();
  ASSERT_EQ(CmAccept(taken, nullptr), 0);
  connecting.join();
  ASSERT_EQ(connected, 0);

  ibv_qp_attr attributes = {};
  ASSERT_EQ(QueryQueuePair(client.id()->qp, &attributes, IBV_QP_TIMEOUT, &wish), 0);
  EXPECT_EQ(attributes.timeout, ack_timeout);

  client.Send("question");
  ibv_wc received = SleepForCompletion(taken->recv_cq_channel, taken->recv_cq);
  ASSERT_EQ(received.status, IBV_WC_SUCCESS);
  EXPECT_EQ(server.text(received.byte_len), "question");
  EXPECT_EQ(SleepForCompletion(client.id()->send_cq_channel, client.id()->send_cq).opcode, IBV_WC_SEND);
  server.Send("answer");
  received = SleepForCompletion(client.id()->recv_cq_channel, client.id()->recv_cq);
  ASSERT_EQ(received.status, IBV_WC_SUCCESS);
  EXPECT_EQ(client.text(received.byte_len), "answer");

  EXPECT_EQ(CmDisconnect(client.id()), 0);
  EXPECT_EQ(CmDisconnect(taken), 0);
  CmDestroyEp(listener);
}

// The event that waits at the channel of a synchronous id, acknowledged; -1 if none does.
int WaitingEvent(rdma_cm_id* id) {
  fcntl(id->channel->fd, F_SETFL, O_NONBLOCK);
  rdma_cm_event* event = nullptr;
  if (CmGetEvent(id->channel, &event) != 0) return -1;
  int type = event->event;
  CmAckEvent(event);
  return type;
}

// A failed device stays failed, so this is a process of its own.
TEST(CmEngineDeathTest, FailedDeviceIsRemovedFromEveryIdOnce) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        ibv_qp_init_attr wish = Wish();
        rdma_cm_id* listener = MakeEndpoint(RAI_PASSIVE, "0", &wish);
        EXPECT_EQ(CmListen(listener, 0), 0);
        rdma_cm_id* client = MakeEndpoint(0, PortOf(listener), &wish);
        for (int i = 0; i < 2; ++i) RaiseDeviceFatal();
        for (rdma_cm_id* id : {listener, client}) {
          EXPECT_EQ(WaitingEvent(id), RDMA_CM_EVENT_DEVICE_REMOVAL);
          EXPECT_EQ(WaitingEvent(id), -1);
        }
        rdma_conn_param parameters = {};
        EXPECT_EQ(CmConnect(client, &parameters), -1);
        for (rdma_cm_id* id : {listener, client}) CmDestroyEp(id);  // As the event asks for.
        std::exit(testing::Test::HasFailure() ? 1 : 0);
      },
      testing::ExitedWithCode(0), "");
}

TEST(CmEngine, ExtendedQueuePairOfAnIdTakesExtendedPosts) {
  rdma_cm_id* id = MakeEndpoint(0, "9", nullptr);
  ibv_qp_init_attr basic = Wish();
  ibv_qp_init_attr_ex wish = {};
  wish.qp_type = basic.qp_type;
  wish.cap = basic.cap;
  wish.comp_mask = IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
  wish.send_ops_flags = IBV_QP_EX_WITH_SEND;
  ASSERT_EQ(CmCreateQpEx(id, &wish), 0);
  EXPECT_NE(ExtendedQueuePair(id->qp), nullptr);
  EXPECT_EQ(id->qp->state, IBV_QPS_INIT);
  EXPECT_EQ(wish.pd, id->pd);
  EXPECT_EQ(wish.send_cq, id->send_cq);
  CmDestroyEp(id);
}

TEST(CmEngine, ExtendedQueuePairThatTheDeviceCannotMakeLeavesNothing) {
  rdma_cm_id* id = MakeEndpoint(0, "9", nullptr);
  ibv_qp_init_attr_ex wish = {};
  wish.qp_type = IBV_QPT_RC;
  wish.cap = Wish().cap;
  wish.comp_mask = IBV_QP_INIT_ATTR_XRCD;
  EXPECT_EQ(CmCreateQpEx(id, &wish), -1);
  EXPECT_EQ(errno, EOPNOTSUPP);
  EXPECT_EQ(id->qp, nullptr);
  EXPECT_EQ(id->send_cq, nullptr);
  CmDestroyEp(id);
}

}  // namespace
}  // namespace verbena::soft
