// Two hosts: programs in two network namespaces, and a cable that loses, delays, reorders and breaks.

#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "transport/soft/soft_api.h"
#include "transport/soft/stream/testing/test_network.h"
#include "transport/soft/testing/child_process.h"
#include "transport/soft/testing/soft_node.h"

namespace verbena::soft {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr size_t kWindow = 8;         // Messages under way.
constexpr size_t kReceivesBase = 64;  // Slots of receives; those below are for sending.
constexpr size_t kReadSlot = 40;
constexpr milliseconds kOutage(500);  // TCP tries again and again meanwhile.
constexpr char kReadable[] = "to be read across the cable";

void Say(const std::string& line) { std::cout << line << std::endl; }

std::string MessageText(uint64_t number) { return absl::StrCat("message ", number, "."); }

// Roles of the programs.

// Takes every message, and echoes it, in its order, if that is its role. Arguments: the address to listen at.
void Serve(const std::vector<std::string>& arguments, bool echoes) {
  setenv("VERBENA_SOFT_TCP_BIND", "0.0.0.0", 1);
  SoftNode node;
  for (size_t slot = 0; slot < 2 * kWindow; ++slot) node.PostReceive(kReceivesBase + slot);
  std::string readable = kReadable;
  readable.copy(node.Slot(kReadSlot), readable.size());
  rdma_cm_id* listener = node.Listen(arguments[0].c_str());
  Say(absl::StrCat(node.PortOf(listener), " ", reinterpret_cast<uint64_t>(node.Slot(kReadSlot)), " ",
                   node.region()->rkey));
  rdma_cm_id* id = node.AcceptNext();
  if (node.NextEvent() != RDMA_CM_EVENT_ESTABLISHED) return Say("not established");
  size_t sends = 0;
  while (true) {
    ibv_wc completion;
    if (ibv_poll_cq(id->qp->recv_cq, 1, &completion) == 0) {
      std::this_thread::yield();
      continue;
    }
    if (completion.status != IBV_WC_SUCCESS) return Say(absl::StrCat("status ", completion.status));
    if ((completion.opcode & IBV_WC_RECV) == 0) continue;
    if (echoes) node.PostSend(id, sends++ % kReadSlot, std::string(node.Slot(completion.wr_id), completion.byte_len));
    node.PostReceive(completion.wr_id);
  }
}

void Echo(const std::vector<std::string>& arguments) { Serve(arguments, /*echoes=*/true); }
void Take(const std::vector<std::string>& arguments) { Serve(arguments, /*echoes=*/false); }

struct Connection {
  std::unique_ptr<SoftNode> node;
  rdma_cm_id* id = nullptr;
};

// Arguments: address and port. An event that is not ESTABLISHED is said, and nothing returned.
Connection ConnectTo(const std::vector<std::string>& arguments) {
  Connection connection = {.node = std::make_unique<SoftNode>()};
  uint32_t port = 0;
  if (!absl::SimpleAtoi(arguments[1], &port)) return {};
  for (size_t slot = 0; slot < 2 * kWindow; ++slot) connection.node->PostReceive(kReceivesBase + slot);
  connection.id = connection.node->Connect(static_cast<uint16_t>(port), arguments[0].c_str());
  int event = connection.node->NextEvent();
  if (event == RDMA_CM_EVENT_ESTABLISHED) return connection;
  Say(absl::StrCat("event ", event));
  connection.id = nullptr;
  return connection;
}

// What came back is the next message, neither an older nor a later one.
bool IsNext(SoftNode& node, const ibv_wc& completion, uint64_t expected) {
  return std::string(node.Slot(completion.wr_id), completion.byte_len) == MessageText(expected);
}

bool IsToldToStop() {
  pollfd input = {.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
  return poll(&input, 1, 0) == 1;
}

// Sends `count` numbered messages, at most kWindow under way, and checks that each comes back once and in order. Says
// "begun" when the first is back. Arguments: address, port, count, or 0 to go on until it is told to stop.
void Talk(const std::vector<std::string>& arguments) {
  Connection connection = ConnectTo(arguments);
  if (connection.id == nullptr) return;
  uint64_t count = 0;
  if (!absl::SimpleAtoi(arguments[2], &count)) return;
  SoftNode& node = *connection.node;
  if (count == 0) count = ~uint64_t{0};
  uint64_t sent = 0;
  uint64_t completed = 0;
  uint64_t returned = 0;
  while (returned < count || completed < count) {
    for (; sent < count && sent - std::min(returned, completed) < kWindow; ++sent) {
      node.PostSend(connection.id, sent % kWindow, MessageText(sent));
    }
    ibv_wc completion = node.NextCompletion();
    if (completion.status != IBV_WC_SUCCESS) return Say(absl::StrCat("status ", completion.status));
    if ((completion.opcode & IBV_WC_RECV) == 0) {
      ++completed;
      continue;
    }
    if (!IsNext(node, completion, returned)) return Say(absl::StrCat("not message ", returned));
    node.PostReceive(completion.wr_id);
    if (returned++ == 0) Say("begun");
    if (IsToldToStop()) count = std::min(count, sent);
  }
  Say("done");
}

// READs what the other program announced. Arguments: address, port, remote address, key.
void Read(const std::vector<std::string>& arguments) {
  Connection connection = ConnectTo(arguments);
  uint64_t address = 0;
  uint32_t key = 0;
  if (connection.id == nullptr || !absl::SimpleAtoi(arguments[2], &address) || !absl::SimpleAtoi(arguments[3], &key)) {
    return;
  }
  connection.node->PostRead(connection.id, 1, address, key, sizeof(kReadable));
  ibv_wc completion = connection.node->NextCompletion();
  if (completion.status != IBV_WC_SUCCESS) return Say(absl::StrCat("status ", completion.status));
  Say(connection.node->Slot(1));
}

// Sends until a request fails, and says with what and how long after the last that did not. There is always one
// outstanding, so the peer must not answer by messages. Arguments: address, port, InfiniBand's code of the timeout,
// retries.
void TalkUntilItFails(const std::vector<std::string>& arguments) {
  Connection connection = ConnectTo(arguments);
  if (connection.id == nullptr) return;
  ibv_qp_attr attributes = {};
  attributes.timeout = static_cast<uint8_t>(std::stoi(arguments[2]));
  attributes.retry_cnt = static_cast<uint8_t>(std::stoi(arguments[3]));
  // A queue pair that sends takes no other patience: it is drained first.
  attributes.qp_state = IBV_QPS_SQD;
  SoftApi().modify_qp(connection.id->qp, &attributes, IBV_QP_STATE);
  SoftApi().modify_qp(connection.id->qp, &attributes, IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT);
  attributes.qp_state = IBV_QPS_RTS;
  SoftApi().modify_qp(connection.id->qp, &attributes, IBV_QP_STATE);
  Say("begun");
  auto alive = Clock::now();
  for (uint64_t number = 0;; ++number) {
    connection.node->PostSend(connection.id, 1, MessageText(number));
    ibv_wc completion;
    while (ibv_poll_cq(connection.id->qp->send_cq, 1, &completion) == 0) std::this_thread::yield();
    if (completion.status != IBV_WC_SUCCESS) {
      auto after = std::chrono::duration_cast<milliseconds>(Clock::now() - alive).count();
      return Say(absl::StrCat("status ", completion.status, " after ", after));
    }
    alive = Clock::now();
  }
}

class TwoHosts : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string why = TestNetwork::WhyImpossible();
    if (!why.empty()) {
      std::cerr << "SKIPPED: no test between two hosts: " << why << std::endl;
      GTEST_SKIP() << why;
    }
    uint32_t seed = std::random_device()();
    RecordProperty("seed", static_cast<int>(seed));
    network_ = std::make_unique<TestNetwork>(seed);
  }

  std::unique_ptr<ChildProcess> Start(TestNetwork::Side side, const std::string& role,
                                      const std::vector<std::string>& arguments) {
    std::unique_ptr<ChildProcess> child;
    network_->At(side, [&] { child = std::make_unique<ChildProcess>(role, arguments); });
    return child;
  }

  // What the serving program at the right says first.
  struct Announced {
    std::string port;
    std::string address;
    std::string key;
  };
  Announced StartServer(const std::string& role, const std::string& address = "0.0.0.0") {
    server_ = Start(TestNetwork::kRight, role, {address});
    std::string line = server_->ReadLine();
    std::istringstream words(line);
    Announced announced;
    words >> announced.port >> announced.address >> announced.key;
    EXPECT_FALSE(announced.key.empty()) << "the serving program said: " << line;
    return announced;
  }

  std::unique_ptr<ChildProcess> StartTalk(const std::string& count) {
    return Start(TestNetwork::kLeft, "talk",
                 {TestNetwork::AddressOf(TestNetwork::kRight), StartServer("echo").port, count});
  }
  std::unique_ptr<ChildProcess> StartTalkUntilItFails() {
    return Start(TestNetwork::kLeft, "talk until it fails",
                 {TestNetwork::AddressOf(TestNetwork::kRight), StartServer("take").port, "16", "3"});
  }

  // The next line, if it may take longer than ReadLine waits.
  static std::string WaitForLine(ChildProcess& child) {
    std::string line = child.ReadLine();
    for (int i = 0; line.empty() && i < 3; ++i) line = child.ReadLine();
    return line;
  }

  std::unique_ptr<TestNetwork> network_;
  std::unique_ptr<ChildProcess> server_;
};

TEST_F(TwoHosts, MessagesComeBackInOrder) {
  auto talk = StartTalk("500");
  ASSERT_EQ(talk->ReadLine(), "begun");
  EXPECT_EQ(WaitForLine(*talk), "done");
}

TEST_F(TwoHosts, ReadCrossesTheCable) {
  Announced announced = StartServer("echo");
  auto read = Start(TestNetwork::kLeft, "read",
                    {TestNetwork::AddressOf(TestNetwork::kRight), announced.port, announced.address, announced.key});
  EXPECT_EQ(read->ReadLine(), kReadable);
}

TEST_F(TwoHosts, NobodyListensIsARejection) {
  auto talk = Start(TestNetwork::kLeft, "talk", {TestNetwork::AddressOf(TestNetwork::kRight), "7471", "1"});
  EXPECT_EQ(talk->ReadLine(), absl::StrCat("event ", RDMA_CM_EVENT_REJECTED));
}

TEST_F(TwoHosts, ListenerWithoutAnAddressForTcpIsNotReached) {
  std::string port = StartServer("echo", "127.0.0.1").port;
  auto talk = Start(TestNetwork::kLeft, "talk", {TestNetwork::AddressOf(TestNetwork::kRight), port, "1"});
  EXPECT_EQ(talk->ReadLine(), absl::StrCat("event ", RDMA_CM_EVENT_REJECTED)) << "its id is for loopback only";
}

// The secret of programs started while this lives.
class SecretForChildren {
 public:
  explicit SecretForChildren(const std::string& secret) : path_(absl::StrCat(::testing::TempDir(), "/cable-secret")) {
    std::ofstream(path_) << secret;
    chmod(path_.c_str(), 0600);
    setenv("VERBENA_SOFT_SECRET_FILE", path_.c_str(), 1);
  }
  ~SecretForChildren() {
    unsetenv("VERBENA_SOFT_SECRET_FILE");
    unlink(path_.c_str());
  }

 private:
  const std::string path_;
};

TEST_F(TwoHosts, SharedSecretLetsThemTalk) {
  SecretForChildren secret("known to both of them");
  auto talk = StartTalk("5");
  EXPECT_EQ(talk->ReadLine(), "begun");
  EXPECT_EQ(talk->ReadLine(), "done");
}

TEST_F(TwoHosts, ProgramWithoutTheSecretIsRejected) {
  SecretForChildren secret("known to one of them");  // The file stays: a listener reads it for each connection.
  std::string port = StartServer("echo").port;
  unsetenv("VERBENA_SOFT_SECRET_FILE");
  auto talk = Start(TestNetwork::kLeft, "talk", {TestNetwork::AddressOf(TestNetwork::kRight), port, "5"});
  EXPECT_EQ(talk->ReadLine(), absl::StrCat("event ", RDMA_CM_EVENT_REJECTED));
}

TEST_F(TwoHosts, LossDelayAndDisorderLoseAndDoubleNothing) {
  network_->SetWeather({.loss = 0.05, .duplicate = 0.02, .delay = milliseconds(2), .jitter = milliseconds(4)});
  auto talk = StartTalk("400");
  ASSERT_EQ(talk->ReadLine(), "begun");
  EXPECT_EQ(WaitForLine(*talk), "done");
}

TEST_F(TwoHosts, CableMendedInTimeLosesAndDoublesNothing) {
  auto talk = StartTalk("0");
  ASSERT_EQ(talk->ReadLine(), "begun");
  network_->SetWeather({.cut = true});
  EXPECT_TRUE(network_->AwaitLossAfter(kOutage));
  network_->SetWeather({});
  talk->WriteLine("stop");
  EXPECT_EQ(WaitForLine(*talk), "done");
}

TEST_F(TwoHosts, LinkDownAndUpInTimeLosesAndDoublesNothing) {
  auto talk = StartTalk("0");
  ASSERT_EQ(talk->ReadLine(), "begun");
  network_->SetLink(TestNetwork::kRight, false);
  EXPECT_TRUE(network_->AwaitLossAfter(kOutage));
  network_->SetLink(TestNetwork::kRight, true);
  talk->WriteLine("stop");
  EXPECT_EQ(WaitForLine(*talk), "done");
}

// 4.096 us * 2^16 * (3 + 1) = 1.07 s.
TEST_F(TwoHosts, CableCutForGoodEndsInRetryExceededInTheConfiguredTime) {
  auto talk = StartTalkUntilItFails();
  ASSERT_EQ(talk->ReadLine(), "begun");
  network_->SetWeather({.cut = true});
  std::istringstream line(WaitForLine(*talk));
  std::string word;
  int status = 0;
  int after_ms = 0;
  line >> word >> status >> word >> after_ms;
  EXPECT_EQ(status, IBV_WC_RETRY_EXC_ERR);
  EXPECT_GE(after_ms, 1000);
  EXPECT_LE(after_ms, 10000) << "as long as a loaded machine may take";
}

TEST_F(TwoHosts, DeathOfTheOtherProgramIsNoticedAtOnce) {
  auto talk = StartTalkUntilItFails();
  ASSERT_EQ(talk->ReadLine(), "begun");
  server_->Kill();
  std::string line = WaitForLine(*talk);
  EXPECT_TRUE(line.starts_with(absl::StrCat("status ", IBV_WC_RETRY_EXC_ERR)) ||
              line.starts_with(absl::StrCat("status ", IBV_WC_WR_FLUSH_ERR)))
      << line;
}

}  // namespace
}  // namespace verbena::soft

int main(int argc, char** argv) {
  namespace soft = verbena::soft;
  soft::RunRoleIfChild(argc, argv,
                       {{"echo", soft::Echo},
                        {"take", soft::Take},
                        {"talk", soft::Talk},
                        {"read", soft::Read},
                        {"talk until it fails", soft::TalkUntilItFails}});
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
