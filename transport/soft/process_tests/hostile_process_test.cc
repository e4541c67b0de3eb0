// A peer in another process that does what it likes with everything that it was given: descriptors, shared memory,
// eventfds. Its own connection fails; nobody else's does, and nothing crashes. This program starts itself again as that
// peer. Worth most with a sanitizer in the victim.

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "transport/soft/control_path.h"
#include "transport/soft/device.h"
#include "transport/soft/event_fd.h"
#include "transport/soft/record.h"
#include "transport/soft/testing/linked_pair.h"
#include "transport/soft/testing/must.h"
#include "transport/soft/testing/offer_pipe.h"

namespace verbena::soft {
namespace {

constexpr int kPeerSocket = 3;  // In the hostile process.

// --- The hostile process. ---

// Everything that offers brought: memory, mapped for writing where that is possible, and eventfds.
class Loot {
 public:
  void Add(const UniqueFd& fd) {
    UniqueFd own(dup(fd.get()));
    struct stat status = {};
    fstat(own.get(), &status);
    std::lock_guard lock(mu_);
    if (IsEventFd(own)) {
      eventfds_.push_back(std::move(own));
      return;
    }
    auto bytes = static_cast<size_t>(status.st_size);
    void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, own.get(), 0);
    if (at != MAP_FAILED) memory_.push_back({static_cast<std::atomic<uint64_t>*>(at), bytes / sizeof(uint64_t)});
  }

  void Scribble(std::mt19937_64& random) {
    std::lock_guard lock(mu_);
    for (const Words& words : memory_) {
      for (int i = 0; i < 200; ++i) words.at[Place(words, random)].store(Value(random));
      if (random() % 8 == 0) ForgeRecord(words, random);
    }
    for (const UniqueFd& eventfd : eventfds_) {
      if (random() % 2 == 0) SignalEventFd(eventfd.get());
    }
  }

 private:
  struct Words {
    std::atomic<uint64_t>* at;
    size_t count;
  };

  // Mostly at the beginning, where the control lines are.
  static size_t Place(const Words& words, std::mt19937_64& random) {
    size_t near = std::min(words.count, kPageBytes / sizeof(uint64_t));
    return random() % 4 == 0 ? random() % words.count : random() % near;
  }
  static uint64_t Value(std::mt19937_64& random) {
    return random() % 3 == 0 ? random() % 1024 : random() >> (random() % 64);
  }
  // Bytes that look like the header of a record, where a ring may begin.
  static void ForgeRecord(const Words& words, std::mt19937_64& random) {
    size_t ring = (kPageBytes + random() % kPairRings * kRingBytes) / sizeof(uint64_t);
    if (ring + sizeof(RecordHeader) / sizeof(uint64_t) > words.count) return;
    RecordHeader header = {};
    header.kind = static_cast<RecordKind>(random() % 16);
    header.flags = static_cast<uint8_t>(random() % 8);
    header.payload_bytes = static_cast<uint32_t>(Value(random));
    header.message_bytes = Value(random);
    header.number = random() % 8;
    header.immediate = static_cast<uint32_t>(random());
    uint64_t raw[sizeof(header) / sizeof(uint64_t)];
    std::memcpy(raw, &header, sizeof(header));
    for (uint64_t word : raw) words.at[ring++].store(word);
  }

  std::mutex mu_;
  std::vector<Words> memory_;
  std::vector<UniqueFd> eventfds_;
};

// Accepts offer after offer, and spoils all that came with them.
[[noreturn]] void RunScribbler() {
  Loot loot;
  std::thread([&loot] {
    std::mt19937_64 random(std::random_device{}());
    while (true) loot.Scribble(random);
  }).detach();
  AskForSenders(kPeerSocket);
  while (true) {
    ucred victim = {};
    LinkOffer offer = ReceiveOffer(kPeerSocket, &victim);
    if (offer.bytes.empty()) _exit(0);
    for (const UniqueFd& fd : offer.fds) loot.Add(fd);
    TestEnd fresh;
    auto answer = AcceptOffer(fresh.queue_pair, std::move(offer), victim, {});
    if (!answer.ok()) _exit(1);
    SendOffer(kPeerSocket, *answer);
    char next;
    if (read(kPeerSocket, &next, 1) != 1) _exit(0);
  }
}

// --- The victim. ---

class HostileProcess {
 public:
  HostileProcess() {
    int ends[2];
    Must(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0, "a socket pair");
    process_ = fork();
    if (process_ == 0) {
      dup2(ends[1], kPeerSocket);
      execl("/proc/self/exe", "scribbler", nullptr);
      _exit(127);
    }
    close(ends[1]);
    socket_ = UniqueFd(ends[0]);
  }
  ~HostileProcess() {
    socket_.Reset();
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
  }

  void Link(ibv_qp* queue_pair) { LinkOverSocket(queue_pair, socket_.get(), true); }
  void GoOn() { EXPECT_EQ(write(socket_.get(), "", 1), 1); }

 private:
  pid_t process_ = -1;
  UniqueFd socket_;
};

// A queue pair on the completion queues of an end that has another, honest, peer.
class ExposedQueuePair {
 public:
  explicit ExposedQueuePair(TestEnd& end) : end_(end) {
    ibv_qp_init_attr attributes = {};
    attributes.qp_type = IBV_QPT_RC;
    attributes.send_cq = end.send_queue;
    attributes.recv_cq = end.receive_queue;
    attributes.cap = {.max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 1, .max_recv_sge = 1, .max_inline_data = 0};
    EXPECT_EQ(CreateQueuePair(end.domain, &attributes, &queue_pair_), 0);
  }
  ~ExposedQueuePair() { DestroyQueuePair(queue_pair_); }
  ExposedQueuePair(const ExposedQueuePair&) = delete;
  ExposedQueuePair& operator=(const ExposedQueuePair&) = delete;

  ibv_qp* get() const { return queue_pair_; }

  // Refused once the queue pair has failed, and that is well.
  void Use() {
    ibv_sge segment = end_.Segment(8192, 64);
    ibv_recv_wr receive = {.wr_id = 0, .next = nullptr, .sg_list = &segment, .num_sge = 1};
    ibv_recv_wr* bad_receive = nullptr;
    ibv_post_recv(queue_pair_, &receive, &bad_receive);
    ibv_send_wr send = {};
    send.sg_list = &segment;
    send.num_sge = 1;
    send.opcode = IBV_WR_SEND;
    ibv_send_wr* bad_send = nullptr;
    ibv_post_send(queue_pair_, &send, &bad_send);
  }

 private:
  TestEnd& end_;
  ibv_qp* queue_pair_ = nullptr;
};

// Whether a message of the honest peer arrives at the victim's end, whatever comes, or came, from the other.
bool HonestMessageArrives(LinkedPair& honest, uint64_t id) {
  honest.left.Receive(id);
  honest.right.Send(id, 0, 64, 0);
  ibv_req_notify_cq(honest.left.receive_queue, 0);  // As a program does before it sleeps.
  std::optional<ibv_wc> received = honest.left.PollReceives();
  uint32_t honest_number = honest.left.queue_pair->qp_num;
  while (received.has_value() && received->qp_num != honest_number) received = honest.left.PollReceives();
  while (honest.left.PollSends().has_value()) {
  }
  return received.has_value() && received->status == IBV_WC_SUCCESS && received->wr_id == id;
}

TEST(HostileProcess, ScribblingHurtsOnlyItsOwnConnections) {
  constexpr int kConnections = 40;
  constexpr uint64_t kMessages = 100;  // Of the honest peer, for each connection of the hostile one.
  LinkedPair honest({.with_channel = true});
  HostileProcess hostile;
  int failed = 0;  // Of the hostile peer's connections.
  for (int i = 0; i < kConnections; ++i) {
    ExposedQueuePair exposed(honest.left);
    hostile.Link(exposed.get());
    for (uint64_t id = 0; id < kMessages; ++id) {
      exposed.Use();
      ASSERT_TRUE(HonestMessageArrives(honest, id)) << "connection " << i << ", message " << id;
    }
    if (exposed.get()->state == IBV_QPS_ERR) ++failed;
    hostile.GoOn();
  }
  EXPECT_GT(failed, 0) << "the peer has not attacked";
  while (NextAsyncEvent().has_value()) {
  }
}

// What a peer can do to the files that it is given, by any way that leads to them.
class OfferedFile : public testing::Test {
 protected:
  // The offer's descriptors: pair, queues, progress thread's eventfd, regions.
  OfferedFile() : offer_(*MakeOffer(end_.queue_pair, {})) {}
  // As a peer in another process has it: opened anew for writing, if the kernel lets it.
  static UniqueFd OpenForWriting(const UniqueFd& fd) {
    return UniqueFd(open(("/proc/self/fd/" + std::to_string(fd.get())).c_str(), O_RDWR | O_CLOEXEC));
  }
  static bool CanBeWritten(const UniqueFd& fd) {
    char byte = 0;
    void* at = mmap(nullptr, kPageBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
    void* read_only = mmap(nullptr, kPageBytes, PROT_READ, MAP_SHARED, fd.get(), 0);
    return at != MAP_FAILED || mprotect(read_only, kPageBytes, PROT_READ | PROT_WRITE) == 0 ||
           pwrite(fd.get(), &byte, 1, 0) == 1 ||
           fallocate(fd.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, kPageBytes) == 0;
  }

  TestEnd end_;
  LinkOffer offer_;
};

TEST_F(OfferedFile, CannotBeCutOrGrown) {
  for (size_t i : {0, 1, 3}) {
    struct stat status = {};
    ASSERT_EQ(fstat(offer_.fds[i].get(), &status), 0);
    UniqueFd again = OpenForWriting(offer_.fds[i]);
    for (const UniqueFd* fd : {&offer_.fds[i], &again}) {
      EXPECT_EQ(ftruncate(fd->get(), 0), -1) << i;
      EXPECT_EQ(ftruncate(fd->get(), status.st_size + 1), -1) << i;
      EXPECT_EQ(fcntl(fd->get(), F_ADD_SEALS, F_SEAL_WRITE), -1) << i;
    }
  }
}

TEST_F(OfferedFile, OfQueuesAndRegionsCannotBeWritten) {
  for (size_t i : {1, 3}) {
    UniqueFd again = OpenForWriting(offer_.fds[i]);
    EXPECT_FALSE(CanBeWritten(offer_.fds[i])) << i;
    EXPECT_FALSE(CanBeWritten(again)) << i;
  }
}

// A counter that is full would have every write wait.
TEST(SharedEventFd, ThatIsFullHoldsNobodyUp) {
  LinkedPair pair({.with_channel = true});
  const uint64_t most = ~uint64_t{1};
  ASSERT_EQ(write(pair.left.channel->fd, &most, sizeof(most)), static_cast<ssize_t>(sizeof(most)));
  fcntl(pair.left.channel->fd, F_SETFL, fcntl(pair.left.channel->fd, F_GETFL) & ~O_NONBLOCK);
  pair.left.Receive(1);
  ibv_req_notify_cq(pair.left.receive_queue, 0);
  pair.right.Send(1);
  EXPECT_TRUE(pair.left.PollReceives().has_value());
  EXPECT_EQ(NextCompletionEvent(pair.left.channel), pair.left.receive_queue);
}

}  // namespace
}  // namespace verbena::soft

int main(int argc, char** argv) {
  if (argc == 1 && std::strcmp(argv[0], "scribbler") == 0) verbena::soft::RunScribbler();
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
