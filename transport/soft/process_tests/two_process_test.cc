// The engine between two processes: this program starts itself again as the peer, and links over a socket pair.

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>
#include <tuple>

#include "gtest/gtest.h"
#include "transport/soft/control_path.h"
#include "transport/soft/testing/linked_pair.h"
#include "transport/soft/testing/must.h"
#include "transport/soft/testing/offer_pipe.h"

namespace verbena::soft {
namespace {

constexpr int kPeerSocket = 3;  // In the peer process.
constexpr size_t kMegabyte = 1 << 20;

// What a peer tells about its memory.
struct RemoteMemory {
  uint64_t address;
  uint32_t key;
};

ibv_wc AwaitReceive(TestEnd& end) {
  while (true) {
    if (auto received = end.PollReceives()) return *received;
    sched_yield();
  }
}

ibv_wc AwaitSend(TestEnd& end) {
  while (true) {
    if (auto sent = end.PollSends()) return *sent;
    sched_yield();
  }
}

void AwaitEndOfFile(int socket) {
  char byte;
  while (read(socket, &byte, 1) > 0) {
  }
}

// --- What peers do. ---

void Echo(TestEnd& end) {
  while (true) {
    ibv_wc received = AwaitReceive(end);
    if (received.status != IBV_WC_SUCCESS || received.byte_len == 0) return;
    end.Receive(received.wr_id, received.wr_id * 4096);
    end.Send(received.wr_id, received.wr_id * 4096, received.byte_len, 0);
  }
}

// When it is told to. Without a thread of the device nobody insists.
void SendWhenTold(TestEnd& end) {
  char byte;
  if (read(kPeerSocket, &byte, 1) != 1) return;
  end.Send(1, kMegabyte, 100);
  AwaitSend(end);
  Must(write(kPeerSocket, &byte, 1) == 1, "telling that it was accepted");
}

// To the kernel a process whose first thread has ended has no memory, however many of its threads live on.
[[noreturn]] void LeaveToAnotherThread() {
  std::thread([] {
    AwaitEndOfFile(kPeerSocket);
    _exit(0);
  }).detach();
  pthread_exit(nullptr);
}

// A megabyte of its heap, each byte `fill`.
std::byte* MapFilled(std::byte fill) {
  auto* const memory = static_cast<std::byte*>(MapMemory(kMegabyte));
  Must(memory != nullptr, "memory of the heap");
  std::fill_n(memory, kMegabyte, fill);
  return memory;
}

int RunPeer(const std::string& role) {
  if (role == "sender") setenv("VERBENA_SOFT_PROGRESS", "polls", 1);
  static TestEnd end({.with_channel = true, .memory_bytes = 2 * kMegabyte});  // Outlives this thread.
  bool unready = role == "unready" || role == "unready for a time";
  for (uint64_t id = 0; id < 8 && !unready; ++id) end.Receive(id, id * 4096);
  for (size_t i = kMegabyte; i < 2 * kMegabyte; ++i) end.memory[i] = static_cast<std::byte>(i * 7 >> 3);
  LinkOverSocket(end.queue_pair, kPeerSocket, false,
                 {.rnr_retry_count = static_cast<uint8_t>(role == "unready for a time" ? 2 : 7)});
  if (role == "armed") ibv_req_notify_cq(end.receive_queue, 0);
  if (role == "one send") end.Send(1, kMegabyte, 100, 0);
  RemoteMemory memory = {.address = end.Address(0), .key = end.region->rkey};
  if (role == "heap") {
    std::byte* const mapped = MapFilled(std::byte{7});
    memory = {.address = reinterpret_cast<uint64_t>(mapped),
              .key = RegisterMemory(end.domain, mapped, kMegabyte, kFullAccess)->rkey};
  }
  if (write(kPeerSocket, &memory, sizeof(memory)) != sizeof(memory)) return 1;
  if (role == "echo") Echo(end);
  if (role == "sender") SendWhenTold(end);
  if (role == "without its first thread") LeaveToAnotherThread();
  AwaitEndOfFile(kPeerSocket);
  return 0;
}

// --- The tests' side. ---

class PeerProcess {
 public:
  explicit PeerProcess(const char* role, const LinkParameters& parameters = {}) {
    int ends[2];
    Must(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0, "a socket pair");
    process_ = fork();
    if (process_ == 0) {
      dup2(ends[1], kPeerSocket);
      execl("/proc/self/exe", "peer", role, nullptr);
      _exit(127);
    }
    close(ends[1]);
    socket_ = UniqueFd(ends[0]);
    LinkOverSocket(end.queue_pair, socket_.get(), true, parameters);
    Must(read(socket_.get(), &memory, sizeof(memory)) == sizeof(memory), "the peer's memory");
  }
  ~PeerProcess() {
    socket_.Reset();
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
  }

  // As the connection manager does it.
  void KillAndNotice() {
    kill(process_, SIGKILL);
    AwaitEndOfFile(socket_.get());
    OnPeerGone(end.queue_pair);
  }

  // Returns when no thread of it runs any more.
  void Stop() {
    kill(process_, SIGSTOP);
    waitpid(process_, nullptr, WUNTRACED);
  }
  void Continue() { kill(process_, SIGCONT); }
  void Tell() { Must(write(socket_.get(), "!", 1) == 1, "telling the peer"); }
  bool WaitUntilItTells() {
    constexpr int kPatienceMs = 10'000;
    pollfd entry = {.fd = socket_.get(), .events = POLLIN, .revents = 0};
    char byte;
    return poll(&entry, 1, kPatienceMs) == 1 && read(socket_.get(), &byte, 1) == 1;
  }
  void AwaitEndOfFirstThread() const {
    const std::string first = "/proc/" + std::to_string(process_) + "/stat";
    std::string line;
    while (line.find(") Z ") == std::string::npos) {
      sched_yield();
      std::getline(std::ifstream(first), line);
    }
  }

  TestEnd end{{.with_channel = true, .memory_bytes = 2 * kMegabyte}};
  RemoteMemory memory = {};

 private:
  pid_t process_ = -1;
  UniqueFd socket_;
};

TEST(TwoProcesses, MessagesComeBack) {
  PeerProcess peer("echo");
  for (uint32_t round = 0; round < 1000; ++round) {
    std::string text = "message " + std::to_string(round);
    peer.end.Fill(0, text);
    peer.end.Receive(1, 8192);
    ASSERT_EQ(peer.end.Send(round, 0, static_cast<uint32_t>(text.size())), 0);
    ASSERT_EQ(AwaitReceive(peer.end).byte_len, text.size());
    ASSERT_EQ(peer.end.Text(8192, text.size()), text);
    ASSERT_EQ(AwaitSend(peer.end).wr_id, round);
  }
}

TEST(TwoProcesses, ReadNeedsNothingOfThePeer) {
  PeerProcess peer("idle");
  peer.end.OneSided(5, IBV_WR_RDMA_READ, 0, kMegabyte, peer.memory.address + kMegabyte, peer.memory.key);
  EXPECT_EQ(AwaitSend(peer.end).status, IBV_WC_SUCCESS);
  for (size_t i = 0; i < kMegabyte; ++i) {
    ASSERT_EQ(peer.end.memory[i], static_cast<std::byte>((kMegabyte + i) * 7 >> 3)) << i;
  }
}

// What was written there is read from there.
void WriteAndRead(PeerProcess& peer) {
  peer.end.Fill(0, "written");
  peer.end.OneSided(5, IBV_WR_RDMA_WRITE, 0, 7, peer.memory.address + 50, peer.memory.key);
  EXPECT_EQ(AwaitSend(peer.end).status, IBV_WC_SUCCESS);
  peer.end.OneSided(6, IBV_WR_RDMA_READ, 100, 7, peer.memory.address + 50, peer.memory.key);
  EXPECT_EQ(AwaitSend(peer.end).status, IBV_WC_SUCCESS);
  EXPECT_EQ(peer.end.Text(100, 7), "written");
}

// How many heaps of other processes this one has mapped.
int MappedHeaps() {
  std::ifstream maps("/proc/self/maps");
  int count = 0;
  for (std::string line; std::getline(maps, line);) {
    count += line.find("r--s") != std::string::npos && line.find("verbena-soft-heap") != std::string::npos ? 1 : 0;
  }
  return count;
}

TEST(TwoProcesses, WhatStandsInThePeersHeapIsReadFromAMapping) {
  {
    PeerProcess peer("heap");
    peer.Stop();
    EXPECT_EQ(MappedHeaps(), 0);
    peer.end.OneSided(5, IBV_WR_RDMA_READ, 0, kMegabyte, peer.memory.address, peer.memory.key);
    EXPECT_EQ(AwaitSend(peer.end).status, IBV_WC_SUCCESS);
    EXPECT_EQ(MappedHeaps(), 1) << "the kernel must give us another process' descriptors (pidfd_getfd)";
    for (size_t i = 0; i < kMegabyte; ++i) ASSERT_EQ(peer.end.memory[i], std::byte{7}) << i;
    peer.Continue();
  }
  EXPECT_EQ(MappedHeaps(), 0);  // It goes with the link.
}

TEST(TwoProcesses, PeersHeapIsWrittenAndReadBack) {
  PeerProcess peer("heap");
  WriteAndRead(peer);
}

TEST(TwoProcesses, HeapIsReadNoFurtherThanItsKeyAllows) {
  PeerProcess peer("heap");
  peer.end.OneSided(5, IBV_WR_RDMA_READ, 0, 64, peer.memory.address + kMegabyte - 63, peer.memory.key);
  EXPECT_EQ(AwaitSend(peer.end).status, IBV_WC_REM_ACCESS_ERR);
}

TEST(TwoProcesses, WriteIsThereForALaterRead) {
  PeerProcess peer("idle");
  WriteAndRead(peer);
}

TEST(TwoProcesses, PeerThatCannotBeCopiedFromAnyMoreCarriesRequestsOutItself) {
  PeerProcess peer("without its first thread");
  peer.AwaitEndOfFirstThread();
  WriteAndRead(peer);
}

TEST(TwoProcesses, ReadBeyondTheRegionIsRemoteAccessError) {
  PeerProcess peer("idle");
  peer.end.OneSided(5, IBV_WR_RDMA_READ, 0, 64, peer.memory.address + 2 * kMegabyte - 63, peer.memory.key);
  EXPECT_EQ(AwaitSend(peer.end).status, IBV_WC_REM_ACCESS_ERR);
}

TEST(TwoProcesses, KilledPeerFailsWhatIsOutstanding) {
  PeerProcess peer("idle");
  peer.Stop();
  peer.end.Receive(1);
  peer.end.Send(8);
  peer.end.Send(9);
  peer.KillAndNotice();
  EXPECT_EQ(AwaitSend(peer.end).status, IBV_WC_RETRY_EXC_ERR);
  EXPECT_EQ(AwaitSend(peer.end).status, IBV_WC_WR_FLUSH_ERR);
  EXPECT_EQ(AwaitReceive(peer.end).status, IBV_WC_WR_FLUSH_ERR);
}

TEST(TwoProcesses, LastMessageOfAKilledPeerIsDelivered) {
  PeerProcess peer("one send");
  peer.end.Receive(1);
  peer.KillAndNotice();
  ibv_wc received = AwaitReceive(peer.end);
  EXPECT_EQ(received.status, IBV_WC_SUCCESS);
  EXPECT_EQ(received.byte_len, 100u);
}

TEST(TwoProcesses, ReadFromAKilledPeerIsAnErrorNotAHang) {
  PeerProcess peer("idle");
  peer.KillAndNotice();
  peer.end.OneSided(5, IBV_WR_RDMA_READ, 0, 64, peer.memory.address, peer.memory.key);
  EXPECT_EQ(AwaitSend(peer.end).status, IBV_WC_WR_FLUSH_ERR);
}

// Peers that never look: their process is blocked outside the device, having armed its queue or not.

class PeerThatDoesNotPoll : public testing::TestWithParam<std::tuple<const char*, const char*>> {
 protected:
  PeerThatDoesNotPoll() { setenv("VERBENA_SOFT_ONE_SIDED", std::get<0>(GetParam()), 1); }
  ~PeerThatDoesNotPoll() override { unsetenv("VERBENA_SOFT_ONE_SIDED"); }
  const char* role() const { return std::get<1>(GetParam()); }
};

TEST_P(PeerThatDoesNotPoll, AcceptsSends) {
  PeerProcess peer(role());
  for (uint64_t id = 0; id < 8; ++id) {
    peer.end.Send(id);
    EXPECT_EQ(AwaitSend(peer.end).status, IBV_WC_SUCCESS);
  }
}

TEST_P(PeerThatDoesNotPoll, IsReadAndWritten) {
  PeerProcess peer(role());
  WriteAndRead(peer);
}

TEST_P(PeerThatDoesNotPoll, AnswersALongRead) {
  PeerProcess peer(role());
  peer.end.OneSided(5, IBV_WR_RDMA_READ, 0, kMegabyte, peer.memory.address + kMegabyte, peer.memory.key);
  EXPECT_EQ(AwaitSend(peer.end).status, IBV_WC_SUCCESS);
  EXPECT_EQ(peer.end.memory[kMegabyte - 1], static_cast<std::byte>((2 * kMegabyte - 1) * 7 >> 3));
}

TEST_P(PeerThatDoesNotPoll, CarriesOutAtomics) {
  PeerProcess peer(role());
  ibv_sge segment = peer.end.Segment(0, 8);
  ibv_send_wr request = {};
  request.sg_list = &segment;
  request.num_sge = 1;
  request.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
  request.send_flags = IBV_SEND_SIGNALED;
  request.wr.atomic = {.remote_addr = peer.memory.address, .compare_add = 5, .swap = 0, .rkey = peer.memory.key};
  for (uint64_t before : {0, 5, 10}) {
    ASSERT_EQ(peer.end.Post(request), 0);
    ASSERT_EQ(AwaitSend(peer.end).status, IBV_WC_SUCCESS);
    EXPECT_EQ(std::memcmp(peer.end.memory.data(), &before, 8), 0);
  }
}

INSTANTIATE_TEST_SUITE_P(ByWhomAndHow, PeerThatDoesNotPoll,
                         testing::Combine(testing::Values("direct", "responder"), testing::Values("idle", "armed")),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param)) + "_" + std::get<1>(info.param);
                         });

TEST(TwoProcesses, StoppedPeerIsGivenUpAfterItsTimeout) {
  PeerProcess peer("idle", {.retry_count = 7, .timeout = 14});  // 537 ms.
  peer.Stop();
  auto start = std::chrono::steady_clock::now();
  peer.end.Send(8);
  peer.end.Send(9);
  EXPECT_EQ(AwaitSend(peer.end).status, IBV_WC_RETRY_EXC_ERR);
  EXPECT_EQ(AwaitSend(peer.end).status, IBV_WC_WR_FLUSH_ERR);
  EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(500));
  peer.Continue();
}

TEST(TwoProcesses, StoppedPeerIsGivenUpByASleeperToo) {
  PeerProcess peer("idle", {.retry_count = 1, .timeout = 14});
  peer.Stop();
  peer.end.Send(8);
  ibv_req_notify_cq(peer.end.send_queue, 0);
  pollfd event = {.fd = peer.end.channel->fd, .events = POLLIN, .revents = 0};
  poll(&event, 1, -1);
  EXPECT_EQ(AwaitSend(peer.end).status, IBV_WC_RETRY_EXC_ERR);
  peer.Continue();
}

// The device's thread looks seldom then, and at last finds that nobody polls any more.
TEST(TwoProcesses, WhoHasPolledAllTheTimeAndStopsAcceptsSends) {
  PeerProcess peer("sender");
  peer.end.Receive(1);
  const auto last = std::chrono::steady_clock::now() + std::chrono::milliseconds(300);
  while (std::chrono::steady_clock::now() < last) {
    peer.end.PollReceives();
    peer.end.PollSends();
  }
  peer.Tell();
  EXPECT_TRUE(peer.WaitUntilItTells());
  EXPECT_EQ(AwaitReceive(peer.end).byte_len, 100u);
}

TEST(TwoProcesses, PatienceForAReceiveEndsThoughThePeerDoesNotPoll) {
  PeerProcess peer("unready for a time");
  peer.end.Send(8);
  EXPECT_EQ(AwaitSend(peer.end).status, IBV_WC_RNR_RETRY_EXC_ERR);
}

TEST(TwoProcesses, ReceiverThatIsNotReadyIsNoTimeout) {
  PeerProcess peer("unready", {.retry_count = 0, .timeout = 16});  // 268 ms, in which its device thread has to run.
  peer.end.Send(8);
  auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(1600);
  while (std::chrono::steady_clock::now() < end) ASSERT_FALSE(peer.end.PollSends().has_value());
  EXPECT_EQ(peer.end.State(), IBV_QPS_RTS);
}

}  // namespace
}  // namespace verbena::soft

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[0], "peer") == 0) return verbena::soft::RunPeer(argv[1]);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
