// A peer in another process that does what it likes with everything that it was given: descriptors, shared memory,
// pipes. Its own connection fails; nobody else's does, and nothing crashes. This program starts itself again as that
// peer. Worth most with a sanitizer in the victim.

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "transport/soft/control_path.h"
#include "transport/soft/device.h"
#include "transport/soft/one_sided_policy.h"
#include "transport/soft/queue_pair.h"
#include "transport/soft/record.h"
#include "transport/soft/testing/linked_pair.h"
#include "transport/soft/testing/must.h"
#include "transport/soft/testing/offer_pipe.h"
#include "transport/soft/testing/request_forger.h"
#include "transport/soft/wake_pipe.h"

namespace verbena::soft {
namespace {

constexpr int kPeerSocket = 3;  // In the hostile process.

// The victim of forged requests lends so many bytes, between twice as many that nobody is to see.
constexpr size_t kLentBytes = 4096;
constexpr size_t kSecretBytes = 4096;

// --- The hostile process. ---

// Everything that offers brought: memory, mapped for writing where that is possible, and pipes.
class Loot {
 public:
  void Add(const UniqueFd& fd) {
    UniqueFd own(dup(fd.get()));
    struct stat status = {};
    fstat(own.get(), &status);
    adding_ = true;
    std::lock_guard lock(mu_);
    adding_ = false;
    if (WakeWriter pipe = WakeWriter::Open(own); pipe.valid()) {
      fcntl(own.get(), F_SETFL, 0);  // Whoever writes there by the open file that is shared blocks once it is full.
      pipes_.push_back(std::move(pipe));
      return;
    }
    auto bytes = static_cast<size_t>(status.st_size);
    void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, own.get(), 0);
    if (at != MAP_FAILED) memory_.push_back({static_cast<std::atomic<uint64_t>*>(at), bytes / sizeof(uint64_t)});
  }

  // Until somebody adds to it: with many pipes a round takes long, and a mutex goes to whoever is awake.
  void Scribble(std::mt19937_64& random) {
    while (adding_) std::this_thread::yield();
    std::lock_guard lock(mu_);
    for (const Words& words : memory_) {
      for (int i = 0; i < 200; ++i) words.at[Place(words, random)].store(Value(random));
      if (random() % 8 == 0) ForgeRecord(words, random);
    }
    for (const WakeWriter& pipe : pipes_) {
      if (adding_) return;
      for (uint64_t wakes = random() % 1000; wakes != 0; --wakes) pipe.Wake();
    }
  }

 private:
  struct Words {
    std::atomic<uint64_t>* at;
    size_t count;
  };

  // Mostly where the control lines of a pair are, or at the beginning of other memory.
  static size_t Place(const Words& words, std::mt19937_64& random) {
    constexpr size_t kControl = offsetof(PairMemory, control) / sizeof(uint64_t);
    const size_t from = words.count > kControl ? kControl : 0;
    const size_t near = std::min(words.count - from, kPageBytes / sizeof(uint64_t));
    return random() % 4 == 0 ? random() % words.count : from + random() % near;
  }
  static uint64_t Value(std::mt19937_64& random) {
    return random() % 3 == 0 ? random() % 1024 : random() >> (random() % 64);
  }
  // Bytes that look like the header of a record, where a ring may begin.
  static void ForgeRecord(const Words& words, std::mt19937_64& random) {
    constexpr size_t kBegins[] = {offsetof(PairMemory, control) - kRingBytesBesideControl,
                                  offsetof(PairMemory, first_request_ring), offsetof(PairMemory, response_rings[0]),
                                  offsetof(PairMemory, response_rings[1])};
    size_t ring = kBegins[random() % std::size(kBegins)] / sizeof(uint64_t);
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
  std::atomic<bool> adding_ = false;  // Somebody waits for the mutex to do so.
  std::vector<Words> memory_;
  std::vector<WakeWriter> pipes_;
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

// Has a request's target and length be others, and then again what they were.
void FlickerRecord(std::byte* record, const RequestForger::Request& honest, std::mt19937_64& random) {
  struct Word {
    size_t offset;
    uint64_t honest;
    uint64_t forged;
  };
  const std::array<Word, 3> words = {{
      {offsetof(RecordHeader, message_bytes), honest.length, kLentBytes + kSecretBytes},
      {sizeof(RecordHeader) + offsetof(RecordTarget, address), honest.address, honest.address - kSecretBytes},
      {sizeof(RecordHeader) + offsetof(RecordTarget, address), honest.address, honest.address + kLentBytes},
  }};
  const Word& word = words[random() % words.size()];
  auto& at = *reinterpret_cast<std::atomic<uint64_t>*>(record + word.offset);
  at.store(word.forged);
  at.store(word.honest);
}

// What the victim tells a forger: what it may READ, and by which word to know what it may not.
struct Lent {
  RequestForger::Request request;
  uint64_t secret;
};

// Asks for what it may READ, while a thread has every request say something else for a moment: what the victim checks
// need not be what it then carries out. At the victim's word it says whether it was ever told the secret.
[[noreturn]] void RunForger() {
  TestEnd end;
  LinkOverSocket(end.queue_pair, kPeerSocket, false);
  auto memory = static_cast<QueuePair*>(end.queue_pair)->link_memory();
  Lent lent;
  if (read(kPeerSocket, &lent, sizeof(lent)) != sizeof(lent)) _exit(1);
  std::atomic<std::byte*> newest{nullptr};
  std::thread([&newest, lent] {
    std::mt19937_64 random(std::random_device{}());
    while (true) {
      if (std::byte* record = newest.load()) FlickerRecord(record, lent.request, random);
    }
  }).detach();
  RequestForger forger(memory->pair());
  const std::string_view secret(reinterpret_cast<const char*>(&lent.secret), sizeof(lent.secret));
  bool knows_secret = false;
  char word;
  do {
    if (std::byte* record = forger.Write(lent.request)) newest.store(record);
    knows_secret = forger.TakeAnswers().find(secret) != std::string::npos || knows_secret;
  } while (recv(kPeerSocket, &word, 1, MSG_DONTWAIT) != 1);
  _exit(write(kPeerSocket, knows_secret ? "y" : "n", 1) == 1 ? 0 : 1);
}

// --- The victim. ---

class HostileProcess {
 public:
  explicit HostileProcess(const char* role) {
    int ends[2];
    Must(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0, "a socket pair");
    process_ = fork();
    if (process_ == 0) {
      dup2(ends[1], kPeerSocket);
      execl("/proc/self/exe", role, nullptr);
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
  void Tell(const Lent& lent) {
    EXPECT_EQ(write(socket_.get(), &lent, sizeof(lent)), static_cast<ssize_t>(sizeof(lent)));
  }
  void GoOn() { EXPECT_EQ(write(socket_.get(), "", 1), 1); }
  // Of a forger, which ends with that.
  bool SaysThatItKnowsTheSecret() {
    GoOn();
    char answer = 0;
    EXPECT_EQ(read(socket_.get(), &answer, 1), 1);
    return answer != 'n';
  }

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
  bool has_failed() const {
    ibv_qp_attr attributes = {};
    ibv_qp_init_attr init_attributes = {};
    EXPECT_EQ(QueryQueuePair(queue_pair_, &attributes, IBV_QP_STATE, &init_attributes), 0);
    return attributes.qp_state == IBV_QPS_ERR;
  }

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

// The next receive of the end's own queue pair, which others share the completion queue with; sleeps in between as a
// program does that has asked for an event, but not longer than any event may take.
std::optional<ibv_wc> AwaitReceive(TestEnd& end) {
  constexpr int kPatienceMs = 10'000;
  pollfd event = {.fd = end.channel->fd, .events = POLLIN, .revents = 0};
  do {
    NextCompletionEvent(end.channel);
    ibv_req_notify_cq(end.receive_queue, 0);
    while (std::optional<ibv_wc> received = end.PollReceives()) {
      if (received->qp_num == end.queue_pair->qp_num) return received;
    }
  } while (poll(&event, 1, kPatienceMs) == 1);
  return std::nullopt;
}

// Whether a message of the honest peer arrives at the victim's end, whatever comes, or came, from the other.
bool HonestMessageArrives(LinkedPair& honest, uint64_t id) {
  honest.left.Receive(id);
  honest.right.Send(id, 0, 64, 0);
  std::optional<ibv_wc> received = AwaitReceive(honest.left);
  while (honest.left.PollSends().has_value()) {
  }
  return received.has_value() && received->status == IBV_WC_SUCCESS && received->wr_id == id;
}

TEST(HostileProcess, ScribblingHurtsOnlyItsOwnConnections) {
  constexpr int kConnections = 40;
  constexpr int kConnectionsMax = 2000;  // Where the hostile process has no processor to attack with.
  constexpr uint64_t kMessages = 100;    // Of the honest peer, for each connection of the hostile one.
  LinkedPair honest({.with_channel = true});
  HostileProcess hostile("scribbler");
  int failed = 0;  // Of the hostile peer's connections.
  for (int i = 0; i < kConnections || (failed == 0 && i < kConnectionsMax); ++i) {
    ExposedQueuePair exposed(honest.left);
    hostile.Link(exposed.get());
    for (uint64_t id = 0; id < kMessages; ++id) {
      exposed.Use();
      ASSERT_TRUE(HonestMessageArrives(honest, id)) << "connection " << i << ", message " << id;
    }
    if (exposed.has_failed()) ++failed;
    hostile.GoOn();
  }
  EXPECT_GT(failed, 0) << "the peer has not attacked";
  while (NextAsyncEvent().has_value()) {
  }
}

// A victim that executes READs for others, and what it keeps from them.
class Lender {
 public:
  explicit Lender(HostileProcess& hostile) {
    for (size_t i = 0; i < end_.memory.size(); i += sizeof(secret_)) {
      std::memcpy(end_.memory.data() + i, &secret_, sizeof(secret_));
    }
    std::memset(end_.memory.data() + kSecretBytes, 0, kLentBytes);
    lent_ = RegisterMemory(end_.domain, end_.memory.data() + kSecretBytes, kLentBytes, kFullAccess);
    hostile.Link(end_.queue_pair);
    memory_ = static_cast<QueuePair*>(end_.queue_pair)->link_memory();
    hostile.Tell({{.address = end_.Address(kSecretBytes), .key = lent_->rkey}, secret_});
  }
  ~Lender() {
    end_.DestroyQueuePair();
    DeregisterMemory(lent_);
  }
  Lender(const Lender&) = delete;
  Lender& operator=(const Lender&) = delete;

  bool serves() const { return end_.State() == IBV_QPS_RTS; }
  void Serve() {
    ibv_req_notify_cq(end_.receive_queue, 0);
    end_.Turn();
  }
  uint64_t answered_bytes() const { return memory_->pair().control.ends[0].responses_out.ring.tail.load(); }

 private:
  const uint64_t secret_ = std::random_device{}() | uint64_t{std::random_device{}() | 1} << 32;
  TestEnd end_{{.memory_bytes = 2 * kSecretBytes + kLentBytes}};
  ibv_mr* lent_ = nullptr;
  std::shared_ptr<SharedMapping> memory_;
};

TEST(HostileProcess, RequestThatChangesAfterItsCheckReachesNothingBeyondTheKey) {
  constexpr int kPeers = 10;
  constexpr int kTurnsMax = 20'000;  // Where no request is caught in the act, as on a single processor.
  OverrideOneSidedPolicy(OneSidedPolicy::kResponder);
  uint64_t answered_bytes = 0;
  for (int i = 0; i < kPeers; ++i) {
    HostileProcess hostile("forger");
    Lender lender(hostile);
    for (int turn = 0; turn < kTurnsMax && lender.serves();) {
      lender.Serve();
      if (lender.answered_bytes() != 0) ++turn;  // The peer is at work.
    }
    answered_bytes += lender.answered_bytes();
    EXPECT_FALSE(hostile.SaysThatItKnowsTheSecret());
  }
  OverrideOneSidedPolicy(std::nullopt);
  EXPECT_GT(answered_bytes, 0u) << "no request was served";
  while (NextAsyncEvent().has_value()) {
  }
}

}  // namespace
}  // namespace verbena::soft

int main(int argc, char** argv) {
  if (argc == 1 && std::strcmp(argv[0], "scribbler") == 0) verbena::soft::RunScribbler();
  if (argc == 1 && std::strcmp(argv[0], "forger") == 0) verbena::soft::RunForger();
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
