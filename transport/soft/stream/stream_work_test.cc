// What queue pairs do over TCP: both families of addresses, large WRITEs and READs, atomics, and all of it while the
// responder's program sleeps.

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <iostream>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "transport/soft/stream/tcp_socket.h"
#include "transport/soft/testing/child_process.h"
#include "transport/soft/testing/soft_node.h"

namespace verbena::soft {
namespace {

constexpr size_t kLargeBytes = 16 << 20;  // Many times what rings and sockets hold.

uint64_t AddressOf(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

bool HasIpv6() {
  UniqueFd socket;
  return BindTcp(SocketAddress::Wildcard(AF_INET6, 0).AsDestination(), PortClaim::kChosen, &socket) == 0;
}

struct RemoteMemory {
  uint64_t address;
  uint32_t key;
};

ibv_sge PartOf(const void* memory, size_t bytes, const ibv_mr* region) {
  return {AddressOf(memory), static_cast<uint32_t>(bytes), region->lkey};
}

ibv_wc_status OneSided(SoftNode& node, rdma_cm_id* id, ibv_wr_opcode opcode, ibv_sge part, RemoteMemory remote) {
  ibv_send_wr request = {};
  request.opcode = opcode;
  request.sg_list = &part;
  request.num_sge = 1;
  request.wr.rdma.remote_addr = remote.address;
  request.wr.rdma.rkey = remote.key;
  node.Post(id, request);
  return node.NextCompletion().status;
}

// For a comparison `operand` is what is compared.
ibv_wc_status Atomic(SoftNode& node, rdma_cm_id* id, ibv_wr_opcode opcode, ibv_sge result, RemoteMemory remote,
                     uint64_t operand, uint64_t swap = 0) {
  ibv_send_wr request = {};
  request.opcode = opcode;
  request.sg_list = &result;
  request.num_sge = 1;
  request.wr.atomic.remote_addr = remote.address;
  request.wr.atomic.rkey = remote.key;
  request.wr.atomic.compare_add = operand;
  request.wr.atomic.swap = swap;
  node.Post(id, request);
  return node.NextCompletion().status;
}

// A program that accepts a connection and then does nothing at all. Says its port, and the address and key of a number
// that is 37.
void Sleep(const std::vector<std::string>&) {
  uint64_t number = 37;
  SoftNode node;
  ibv_mr* region = node.Register(&number, sizeof(number));
  for (size_t slot = 0; slot < 8; ++slot) node.PostReceive(slot);
  std::cout << node.PortOf(node.Listen()) << '\n' << AddressOf(&number) << '\n' << region->rkey << std::endl;
  node.AcceptNext();
  pause();
}

class StreamWork : public ::testing::Test {
 protected:
  // The active end; null if it is not connected.
  rdma_cm_id* Connect(rdma_cm_id* listener, const char* address = SoftNode::kLoopback) {
    rdma_cm_id* id = client_.Connect(server_.PortOf(listener), address);
    server_.AcceptNext();
    EXPECT_EQ(server_.NextEvent(), RDMA_CM_EVENT_ESTABLISHED);
    return client_.NextEvent() == RDMA_CM_EVENT_ESTABLISHED ? id : nullptr;
  }

  void ExpectMessageArrives(rdma_cm_id* id) {
    ASSERT_NE(id, nullptr);
    server_.PostReceive(3);
    client_.PostSend(id, 0, "hello");
    ibv_wc received = server_.NextCompletion();
    ASSERT_EQ(received.status, IBV_WC_SUCCESS);
    EXPECT_EQ(std::string(server_.Slot(3), received.byte_len), "hello");
    EXPECT_EQ(client_.NextCompletion().status, IBV_WC_SUCCESS);
  }

  // Memory of the server.
  RemoteMemory Offer(void* memory, size_t bytes) { return {AddressOf(memory), server_.Register(memory, bytes)->rkey}; }

  // Longer than the nodes that they are registered with.
  std::vector<char> sent_ = std::vector<char>(kLargeBytes);
  std::vector<char> far_ = std::vector<char>(kLargeBytes);
  std::vector<char> fetched_ = std::vector<char>(kLargeBytes);
  uint64_t number_ = 37;
  uint64_t result_ = 0;

  SoftNode client_;
  SoftNode server_;
};

TEST_F(StreamWork, Ipv6ListenerIsReached) {
  if (!HasIpv6()) GTEST_SKIP() << "this host has no IPv6";
  ExpectMessageArrives(Connect(server_.Listen("::1"), "::1"));
}

TEST_F(StreamWork, Ipv6WildcardIsReachedByBothFamilies) {
  if (!HasIpv6()) GTEST_SKIP() << "this host has no IPv6";
  rdma_cm_id* listener = server_.Listen("::");
  ExpectMessageArrives(Connect(listener, "::1"));
  ExpectMessageArrives(Connect(listener, "127.0.0.1"));
}

TEST_F(StreamWork, WriteAndReadOfManyMebibytesArriveWhole) {
  for (size_t i = 0; i < kLargeBytes; ++i) sent_[i] = static_cast<char>(i * 31 + i / 4096);
  rdma_cm_id* id = Connect(server_.Listen());
  ASSERT_NE(id, nullptr);
  RemoteMemory remote = Offer(far_.data(), kLargeBytes);
  ibv_sge from = PartOf(sent_.data(), kLargeBytes, client_.Register(sent_.data(), kLargeBytes));
  ibv_sge to = PartOf(fetched_.data(), kLargeBytes, client_.Register(fetched_.data(), kLargeBytes));
  ASSERT_EQ(OneSided(client_, id, IBV_WR_RDMA_WRITE, from, remote), IBV_WC_SUCCESS);
  EXPECT_TRUE(far_ == sent_);
  ASSERT_EQ(OneSided(client_, id, IBV_WR_RDMA_READ, to, remote), IBV_WC_SUCCESS);
  EXPECT_TRUE(fetched_ == sent_);
}

TEST_F(StreamWork, AtomicsReturnWhatWasThereAndChangeIt) {
  rdma_cm_id* id = Connect(server_.Listen());
  ASSERT_NE(id, nullptr);
  RemoteMemory remote = Offer(&number_, sizeof(number_));
  ibv_sge result = PartOf(&result_, sizeof(result_), client_.Register(&result_, sizeof(result_)));
  ASSERT_EQ(Atomic(client_, id, IBV_WR_ATOMIC_FETCH_AND_ADD, result, remote, 5), IBV_WC_SUCCESS);
  EXPECT_EQ(result_, 37u);
  EXPECT_EQ(number_, 42u);
  ASSERT_EQ(Atomic(client_, id, IBV_WR_ATOMIC_CMP_AND_SWP, result, remote, 42, 7), IBV_WC_SUCCESS);
  EXPECT_EQ(result_, 42u);
  EXPECT_EQ(number_, 7u);
  ASSERT_EQ(Atomic(client_, id, IBV_WR_ATOMIC_CMP_AND_SWP, result, remote, 42, 8), IBV_WC_SUCCESS);
  EXPECT_EQ(result_, 7u);
  EXPECT_EQ(number_, 7u);
}

TEST_F(StreamWork, ProgramThatSleepsIsServed) {
  ChildProcess sleeper("sleep");
  auto port = static_cast<uint16_t>(sleeper.ReadNumber());
  RemoteMemory remote = {};
  remote.address = sleeper.ReadNumber();
  remote.key = static_cast<uint32_t>(sleeper.ReadNumber());
  rdma_cm_id* id = client_.Connect(port);
  ASSERT_EQ(client_.NextEvent(), RDMA_CM_EVENT_ESTABLISHED);
  ibv_sge result = PartOf(&result_, sizeof(result_), client_.Register(&result_, sizeof(result_)));
  client_.PostSend(id, 0, "nobody looks at this");
  EXPECT_EQ(client_.NextCompletion().status, IBV_WC_SUCCESS);
  EXPECT_EQ(OneSided(client_, id, IBV_WR_RDMA_READ, result, remote), IBV_WC_SUCCESS);
  EXPECT_EQ(result_, 37u);
  result_ = 100;
  EXPECT_EQ(OneSided(client_, id, IBV_WR_RDMA_WRITE, result, remote), IBV_WC_SUCCESS);
  EXPECT_EQ(Atomic(client_, id, IBV_WR_ATOMIC_FETCH_AND_ADD, result, remote, 11), IBV_WC_SUCCESS);
  EXPECT_EQ(result_, 100u);
  EXPECT_EQ(OneSided(client_, id, IBV_WR_RDMA_READ, result, remote), IBV_WC_SUCCESS);
  EXPECT_EQ(result_, 111u);
}

}  // namespace
}  // namespace verbena::soft

int main(int argc, char** argv) {
  verbena::soft::RunRoleIfChild(argc, argv, {{"sleep", verbena::soft::Sleep}});
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
