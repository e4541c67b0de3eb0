// The software device as the floors above see it: the table and inline verbs, both halves together.

#include "transport/soft/soft_api.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <iostream>
#include <set>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "transport/soft/testing/child_process.h"
#include "transport/soft/testing/open_fds.h"
#include "transport/soft/testing/soft_node.h"

namespace verbena::soft {
namespace {

constexpr int kManyConnections = 200;

// A killed peer is noticed within this. A loaded machine may be late for once, not every time.
constexpr std::chrono::milliseconds kNoticeMax(100);
constexpr int kAttempts = 5;

// Nine hundred connections that leaked a page of memory each would be past this.
constexpr size_t kGrowthMaxBytes = 2 << 20;

constexpr unsigned kForkedChildSeconds = 60;

constexpr char kSecret[] = "read by the peer";

struct Connected {
  rdma_cm_id* listener;
  rdma_cm_id* active;
  rdma_cm_id* passive;
};

Connected ConnectNodes(SoftNode& active, SoftNode& passive, rdma_cm_id* listener) {
  Connected ids = {listener, active.Connect(passive.PortOf(listener)), nullptr};
  ids.passive = passive.AcceptNext();
  EXPECT_EQ(active.NextEvent(), RDMA_CM_EVENT_ESTABLISHED);
  EXPECT_EQ(passive.NextEvent(), RDMA_CM_EVENT_ESTABLISHED);
  return ids;
}

uint64_t AddressOf(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

// Of memory shared with peers.
size_t SharedMappings() {
  std::ifstream maps("/proc/self/maps");
  size_t count = 0;
  for (std::string line; std::getline(maps, line);) count += line.find("memfd:") != std::string::npos;
  return count;
}

// Resident set, in bytes. Sanitizers keep what was freed, and look for leaks themselves: 0 for them.
size_t ResidentBytes() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return 0;
#endif
  std::ifstream statm("/proc/self/statm");
  size_t total = 0;
  size_t resident = 0;
  statm >> total >> resident;
  return resident * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

// The other process: answers every message with an announcement of its memory, and says its events.
void Serve(const std::vector<std::string>&) {
  SoftNode node;
  rdma_cm_id* listener = node.Listen();
  strcpy(node.Slot(1), kSecret);
  for (size_t slot = 2; slot < 12; ++slot) node.PostReceive(slot);
  std::cout << node.PortOf(listener) << std::endl;
  rdma_cm_id* id = node.AcceptNext();
  EXPECT_EQ(node.NextEvent(), RDMA_CM_EVENT_ESTABLISHED);
  ibv_wc received = node.NextCompletion();
  EXPECT_EQ(std::string(node.Slot(received.wr_id), received.byte_len), "ping");
  node.PostSend(id, 0, std::to_string(AddressOf(node.Slot(1))) + " " + std::to_string(node.region()->rkey));
  EXPECT_EQ(node.NextCompletion().status, IBV_WC_SUCCESS);
  std::cout << (node.NextEvent() == RDMA_CM_EVENT_DISCONNECTED ? "disconnected" : "another event") << std::endl;
}

// Accepts connections, and neither receives nor polls.
void Sleep(const std::vector<std::string>&) {
  SoftNode node;
  std::cout << node.PortOf(node.Listen()) << std::endl;
  node.AcceptNext();
  pause();
}

// The same, and so does a child of its own, which outlives it unless its alarm ends it.
void SleepWithChild(const std::vector<std::string>&) {
  SoftNode node;
  std::cout << node.PortOf(node.Listen()) << std::endl;
  node.AcceptNext();
  EXPECT_EQ(node.NextEvent(), RDMA_CM_EVENT_ESTABLISHED);
  pid_t child = fork();
  if (child == 0) {
    alarm(kForkedChildSeconds);
    pause();
  }
  std::cout << child << std::endl;
  pause();
}

TEST(SoftApi, WholeLifeInOneProcess) {
  SoftNode client;
  SoftNode server;
  Connected ids = ConnectNodes(client, server, server.Listen());
  server.PostReceive(3);
  client.PostSend(ids.active, 0, "hello");
  // The device has no thread: a message is accepted when its receiver polls.
  ibv_wc received = server.NextCompletion();
  EXPECT_EQ(client.NextCompletion().status, IBV_WC_SUCCESS);
  EXPECT_EQ(received.status, IBV_WC_SUCCESS);
  EXPECT_EQ(received.opcode, IBV_WC_RECV);
  EXPECT_EQ(received.wr_id, 3u);
  EXPECT_EQ(received.qp_num, ids.passive->qp->qp_num);
  EXPECT_EQ(std::string(server.Slot(3), received.byte_len), "hello");

  strcpy(server.Slot(1), kSecret);
  client.PostRead(ids.active, 2, AddressOf(server.Slot(1)), server.region()->rkey, sizeof(kSecret));
  ibv_wc read = client.NextCompletion();
  EXPECT_EQ(read.status, IBV_WC_SUCCESS);
  EXPECT_EQ(read.opcode, IBV_WC_RDMA_READ);
  EXPECT_STREQ(client.Slot(2), kSecret);
}

TEST(SoftApi, DisconnectFlushesWhatIsPostedOnBothSides) {
  SoftNode client;
  SoftNode server;
  Connected ids = ConnectNodes(client, server, server.Listen());
  client.PostSend(ids.active, 0, "nobody receives this");
  EXPECT_TRUE(client.NothingCompleted());
  ASSERT_EQ(SoftApi().cm_disconnect(ids.passive), 0);
  EXPECT_EQ(server.NextEvent(), RDMA_CM_EVENT_DISCONNECTED);
  EXPECT_EQ(client.NextEvent(), RDMA_CM_EVENT_DISCONNECTED);
  EXPECT_NE(client.NextCompletion().status, IBV_WC_SUCCESS);
  client.PostSend(ids.active, 1, "too late");
  ibv_wc flushed = client.NextCompletion();
  EXPECT_EQ(flushed.status, IBV_WC_WR_FLUSH_ERR);
  EXPECT_EQ(flushed.wr_id, 1u);
}

TEST(SoftApi, WholeLifeBetweenTwoProcesses) {
  SoftNode client;
  ChildProcess server("serve");
  rdma_cm_id* id = client.Connect(static_cast<uint16_t>(server.ReadNumber()));
  ASSERT_EQ(client.NextEvent(), RDMA_CM_EVENT_ESTABLISHED);
  client.PostReceive(1);
  client.PostSend(id, 0, "ping");
  std::string announcement;
  for (int i = 0; i < 2; ++i) {
    ibv_wc completion = client.NextCompletion();
    ASSERT_EQ(completion.status, IBV_WC_SUCCESS);
    if (completion.opcode == IBV_WC_RECV) announcement.assign(client.Slot(1), completion.byte_len);
  }
  size_t space = 0;
  uint64_t address = std::stoull(announcement, &space);
  auto key = static_cast<uint32_t>(std::stoul(announcement.substr(space)));
  client.PostRead(id, 2, address, key, sizeof(kSecret));
  EXPECT_EQ(client.NextCompletion().status, IBV_WC_SUCCESS);
  EXPECT_STREQ(client.Slot(2), kSecret);
  client.Destroy(id);
  EXPECT_EQ(server.ReadLine(), "disconnected");
}

// Kills the peer while two messages wait for it. Returns how long it took until everything was reported; for ever if
// there was no connection.
std::chrono::nanoseconds KillPeer() {
  SoftNode client;
  ChildProcess server("sleep");
  rdma_cm_id* id = client.Connect(static_cast<uint16_t>(server.ReadNumber()));
  EXPECT_EQ(client.NextEvent(), RDMA_CM_EVENT_ESTABLISHED);
  if (::testing::Test::HasFailure()) return std::chrono::nanoseconds::max();
  client.PostSend(id, 0, "oldest");
  client.PostSend(id, 1, "younger");
  EXPECT_TRUE(client.NothingCompleted());
  auto before = std::chrono::steady_clock::now();
  server.Kill();
  EXPECT_EQ(client.NextEvent(), RDMA_CM_EVENT_DISCONNECTED);
  ibv_wc first = client.NextCompletion();
  ibv_wc second = client.NextCompletion();
  EXPECT_EQ(first.wr_id, 0u);
  EXPECT_EQ(first.status, IBV_WC_RETRY_EXC_ERR);
  EXPECT_EQ(second.wr_id, 1u);
  EXPECT_EQ(second.status, IBV_WC_WR_FLUSH_ERR);
  return std::chrono::steady_clock::now() - before;
}

TEST(SoftApi, KilledPeerFailsTheWorkAndDisconnectsAtOnce) {
  std::chrono::nanoseconds best = KillPeer();
  for (int again = 0; again < kAttempts && best > kNoticeMax && !HasFailure(); ++again) {
    best = std::min(best, KillPeer());
  }
  EXPECT_LE(best, kNoticeMax);
}

TEST(SoftApi, PeerWhoseQueuePairFailedIsSentToUntilRetriesAreUsedUp) {
  SoftNode client;
  SoftNode server;
  Connected ids = ConnectNodes(client, server, server.Listen());
  ibv_qp_attr failed = {};
  failed.qp_state = IBV_QPS_ERR;
  ASSERT_EQ(SoftApi().modify_qp(ids.passive->qp, &failed, IBV_QP_STATE), 0);
  auto before = std::chrono::steady_clock::now();
  client.PostSend(ids.active, 0, "nobody receives this");
  EXPECT_EQ(client.NextCompletion().status, IBV_WC_RETRY_EXC_ERR);
  EXPECT_GE(std::chrono::steady_clock::now() - before, std::chrono::milliseconds(500));
}

TEST(SoftApi, ForkedChildOfAKilledPeerDoesNotHideItsEnd) {
  SoftNode client;
  ChildProcess server("sleep_with_child");
  client.Connect(static_cast<uint16_t>(server.ReadNumber()));
  ASSERT_EQ(client.NextEvent(), RDMA_CM_EVENT_ESTABLISHED);
  pid_t child = static_cast<pid_t>(server.ReadNumber());
  server.Kill();
  EXPECT_EQ(client.NextEvent(), RDMA_CM_EVENT_DISCONNECTED);
  EXPECT_EQ(kill(child, SIGKILL), 0);  // It was there all the time.
}

TEST(SoftApi, ForkedChildLeavesItsParentsConnections) {
  SoftNode client;
  SoftNode server;
  Connected ids = ConnectNodes(client, server, server.Listen());
  pid_t child = fork();
  if (child == 0) _exit(0);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  server.PostReceive(3);
  client.PostSend(ids.active, 0, "hello");
  EXPECT_EQ(server.NextCompletion().status, IBV_WC_SUCCESS);
  EXPECT_EQ(client.NextCompletion().status, IBV_WC_SUCCESS);
}

TEST(SoftApi, ManyConnectionsShareOneReceiveQueue) {
  SoftNode client;
  SoftNode server;
  rdma_cm_id* listener = server.Listen();
  for (size_t slot = 0; slot < SoftNode::kSlots; ++slot) server.PostReceive(slot);
  std::vector<Connected> all;
  std::set<uint32_t> expected;
  for (int i = 0; i < kManyConnections; ++i) {
    all.push_back(ConnectNodes(client, server, listener));
    expected.insert(all.back().passive->qp->qp_num);
  }
  for (int i = 0; i < kManyConnections; ++i) client.PostSend(all[i].active, i, "hello");
  for (int i = 0; i < kManyConnections; ++i) {
    ibv_wc received = server.NextCompletion();
    EXPECT_EQ(received.status, IBV_WC_SUCCESS);
    EXPECT_EQ(expected.erase(received.qp_num), 1u);
    EXPECT_EQ(client.NextCompletion().status, IBV_WC_SUCCESS);
  }
  EXPECT_TRUE(expected.empty());
}

TEST(SoftApi, ThousandReconnectionsLeaveNothingBehind) {
  SoftNode client;
  SoftNode server;
  rdma_cm_id* listener = server.Listen();
  size_t fds = 0;
  size_t mappings = 0;
  size_t resident = 0;
  for (int i = 0; i < 1000; ++i) {
    if (i == 100) {  // What is kept for good has been made.
      fds = OpenFds();
      mappings = SharedMappings();
      resident = ResidentBytes();
    }
    Connected ids = ConnectNodes(client, server, listener);
    server.PostReceive(1);
    client.PostSend(ids.active, 0, "hello");
    ASSERT_EQ(server.NextCompletion().status, IBV_WC_SUCCESS);
    ASSERT_EQ(client.NextCompletion().status, IBV_WC_SUCCESS);
    client.Destroy(ids.active);
    ASSERT_EQ(server.NextEvent(), RDMA_CM_EVENT_DISCONNECTED);
    server.Destroy(ids.passive);
  }
  EXPECT_EQ(OpenFds(), fds);
  EXPECT_EQ(SharedMappings(), mappings);
  EXPECT_LT(ResidentBytes(), resident + kGrowthMaxBytes);
}

}  // namespace
}  // namespace verbena::soft

int main(int argc, char** argv) {
  namespace soft = verbena::soft;
  soft::RunRoleIfChild(argc, argv,
                       {{"serve", soft::Serve}, {"sleep", soft::Sleep}, {"sleep_with_child", soft::SleepWithChild}});
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
