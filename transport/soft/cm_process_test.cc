// Connections between processes: death, forks, strangers.

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <fstream>
#include <iostream>
#include <string>

#include "gtest/gtest.h"
#include "transport/soft/cm_api.h"
#include "transport/soft/fake_engine.h"
#include "transport/soft/testing/child_process.h"
#include "transport/soft/testing/cm_party.h"

namespace verbena::soft {
namespace {

constexpr char kStrangersUser[] = "65534";

void Say(const std::string& line) { std::cout << line << std::endl; }

void BecomeUser(const std::string& user) {
  auto id = static_cast<uid_t>(std::stoul(user));
  if (setresuid(id, id, id) != 0) Say("setresuid failed");
}

const char* Name(rdma_cm_event_type type) {
  switch (type) {
    case RDMA_CM_EVENT_CONNECT_REQUEST:
      return "request";
    case RDMA_CM_EVENT_ESTABLISHED:
      return "established";
    case RDMA_CM_EVENT_DISCONNECTED:
      return "disconnected";
    case RDMA_CM_EVENT_UNREACHABLE:
      return "unreachable";
    default:
      return "another event";
  }
}

std::string Describe(const SeenEvent& event) {
  return std::string(Name(event.type)) + " " + std::to_string(event.status);
}

// Roles of the other process.

// Listens, accepts one connection, and says what else happens. An argument: the user to become first.
void Accept(const std::vector<std::string>& arguments) {
  if (!arguments.empty()) BecomeUser(arguments[0]);
  CmParty party;
  Say(std::to_string(PortOf(party.Listen())));
  for (;;) {
    SeenEvent event = party.Next();
    Say(Describe(event));
    if (event.type == kNoEvent) return;
    if (event.type != RDMA_CM_EVENT_CONNECT_REQUEST) continue;
    party.MakeQueuePair(event.id);
    party.Accept(event.id);
  }
}

// Listens, and never answers.
void Ignore(const std::vector<std::string>&) {
  CmParty party;
  Say(std::to_string(PortOf(party.Listen())));
  pause();
}

// Connects to the port, says what happens, and stays. A second argument: the user to become first.
void Connect(const std::vector<std::string>& arguments) {
  if (arguments.size() > 1) BecomeUser(arguments[1]);
  CmParty party;
  rdma_cm_id* id = party.Resolve(static_cast<uint16_t>(std::stoul(arguments[0])));
  if (party.Connect(id) != 0) return Say("connect failed " + std::to_string(errno));
  Say(Describe(party.Next()));
  std::string line;
  std::getline(std::cin, line);
}

TEST(CmProcess, ConnectsAndEachKnowsTheOthersProcess) {
  CmParty party;
  ChildProcess other("accept");
  rdma_cm_id* id = party.Resolve(static_cast<uint16_t>(other.ReadNumber()));
  ASSERT_EQ(party.Connect(id), 0);
  EXPECT_EQ(party.Next().type, RDMA_CM_EVENT_ESTABLISHED);
  EXPECT_EQ(other.ReadLine(), "request 0");
  EXPECT_EQ(other.ReadLine(), "established 0");
  FakeQueuePair own = FakeQueuePairOf(id->qp->qp_num);
  EXPECT_EQ(own.peer_number >> 12, static_cast<uint32_t>(own.peer_pid)) << "the fake numbers by process";
  EXPECT_NE(own.peer_pid, getpid());
  ASSERT_EQ(CmDisconnect(id), 0);
  EXPECT_EQ(other.ReadLine(), "disconnected 0");
}

TEST(CmProcess, KilledPeerIsNoticedAtOnce) {
  CmParty party;
  ChildProcess other("accept");
  rdma_cm_id* id = party.Resolve(static_cast<uint16_t>(other.ReadNumber()));
  ASSERT_EQ(party.Connect(id), 0);
  ASSERT_EQ(party.Next().type, RDMA_CM_EVENT_ESTABLISHED);
  auto before = std::chrono::steady_clock::now();
  other.Kill();
  EXPECT_EQ(party.Next().type, RDMA_CM_EVENT_DISCONNECTED);
  EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds(2))
      << "milliseconds when nothing else runs";
  EXPECT_EQ(FakeQueuePairOf(id->qp->qp_num).peer_gone_count, 1);
}

TEST(CmProcess, ListenerKilledBeforeItAnswersIsUnreachable) {
  CmParty party;
  ChildProcess other("ignore");
  rdma_cm_id* id = party.Resolve(static_cast<uint16_t>(other.ReadNumber()));
  ASSERT_EQ(party.Connect(id), 0);
  other.Kill();
  SeenEvent event = party.Next();
  EXPECT_EQ(event.type, RDMA_CM_EVENT_UNREACHABLE);
  EXPECT_EQ(event.status, -ECONNRESET);
}

TEST(CmProcess, PortOfKilledListenerIsFree) {
  CmParty party;
  ChildProcess other("ignore");
  auto port = static_cast<uint16_t>(other.ReadNumber());
  sockaddr_in address = Address4("127.0.0.1", port);
  EXPECT_EQ(CmBindAddr(party.NewId(), reinterpret_cast<sockaddr*>(&address)), -1);
  EXPECT_EQ(errno, EADDRINUSE);
  other.Kill();
  EXPECT_EQ(CmBindAddr(party.NewId(), reinterpret_cast<sockaddr*>(&address)), 0);
}

TEST(CmProcess, ForkedChildCannotUseTheDeviceNorKeepItsConnectionsOpen) {
  CmParty party;
  ChildProcess other("accept");
  rdma_cm_id* id = party.Resolve(static_cast<uint16_t>(other.ReadNumber()));
  ASSERT_EQ(party.Connect(id), 0);
  ASSERT_EQ(party.Next().type, RDMA_CM_EVENT_ESTABLISHED);
  other.ReadLine();
  other.ReadLine();
  int checked[2];
  ASSERT_EQ(pipe(checked), 0);
  pid_t child = fork();
  if (child == 0) {
    char result = CmDisconnect(id) == -1 && errno == ENODEV ? 'y' : 'n';
    if (write(checked[1], &result, 1) != 1) _exit(1);
    pause();
  }
  char result = '?';
  EXPECT_EQ(read(checked[0], &result, 1), 1);
  EXPECT_EQ(result, 'y');
  party.Destroy(id);  // While the child lives.
  EXPECT_EQ(other.ReadLine(), "disconnected 0");
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  close(checked[0]);
  close(checked[1]);
}

class CmStranger : public ::testing::Test {
 protected:
  // Root of a user namespace with only itself in it has nobody to become.
  static bool CanBecomeAnotherUser() {
    std::ifstream map("/proc/self/uid_map");
    uint64_t inside = 0;
    uint64_t outside = 0;
    uint64_t count = 0;
    map >> inside >> outside >> count;
    return geteuid() == 0 && inside + count > std::stoul(kStrangersUser);
  }

  void SetUp() override {
    if (!CanBecomeAnotherUser()) GTEST_SKIP() << "only the host's root can become another user";
  }
};

TEST_F(CmStranger, CannotConnect) {
  CmParty party;
  rdma_cm_id* listener = party.Listen();
  ChildProcess stranger("connect", {std::to_string(PortOf(listener)), kStrangersUser});
  EXPECT_EQ(stranger.ReadLine(), "unreachable " + std::to_string(-EACCES));
  EXPECT_TRUE(party.Quiet());
}

TEST_F(CmStranger, IsNotTalkedToEither) {
  CmParty party;
  ChildProcess stranger("accept", {kStrangersUser});
  rdma_cm_id* id = party.Resolve(static_cast<uint16_t>(stranger.ReadNumber()));
  ASSERT_EQ(party.Connect(id), 0);
  SeenEvent event = party.Next();
  EXPECT_EQ(event.type, RDMA_CM_EVENT_UNREACHABLE);
  EXPECT_EQ(event.status, -EACCES);
}

}  // namespace
}  // namespace verbena::soft

int main(int argc, char** argv) {
  namespace soft = verbena::soft;
  soft::RunRoleIfChild(argc, argv, {{"accept", soft::Accept}, {"ignore", soft::Ignore}, {"connect", soft::Connect}});
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
