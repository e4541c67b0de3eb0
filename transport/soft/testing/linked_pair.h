// For tests: ends of a link, each with everything a queue pair needs, and the linking of two of them in this process.

#ifndef VERBENA_TRANSPORT_SOFT_TESTING_LINKED_PAIR_H_
#define VERBENA_TRANSPORT_SOFT_TESTING_LINKED_PAIR_H_

#include <infiniband/verbs.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "transport/soft/link.h"

namespace verbena::soft {

inline constexpr int kFullAccess =
    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;

// Process and user of this process, as the kernel would tell a peer.
ucred OwnCredentials();

struct EndOptions {
  bool shared_receives = false;
  bool unconnected = false;   // The queue pair is in RESET, as ibv_create_qp makes it; else in INIT.
  bool with_channel = false;  // One channel for both completion queues, not blocking.
  uint32_t sends_max = 64;
  uint32_t receives_max = 64;
  int completions_max = 256;
  size_t memory_bytes = 1 << 20;
  uint32_t inline_bytes_max = 128;
  int access = kFullAccess;
  // Somebody else's, who outlives this end. Null: one of its own.
  ibv_pd* domain = nullptr;
  ibv_cq* receive_queue = nullptr;
};

// A domain, completion queues, a queue pair and one region of memory. Destroyed in the right order.
class TestEnd {
 public:
  explicit TestEnd(const EndOptions& options = {});
  ~TestEnd();
  TestEnd(const TestEnd&) = delete;
  TestEnd& operator=(const TestEnd&) = delete;

  void DestroyQueuePair();

  // Posts `length` bytes at `offset` of the memory. The result is the verbs call's.
  int Receive(uint64_t wr_id, size_t offset = 0, uint32_t length = 4096);
  int Send(uint64_t wr_id, size_t offset = 0, uint32_t length = 64, unsigned flags = IBV_SEND_SIGNALED);
  int Post(ibv_send_wr request);
  // A one-sided request between `offset` here and `remote` of the other end.
  int OneSided(uint64_t wr_id, ibv_wr_opcode opcode, size_t offset, uint32_t length, uint64_t remote, uint32_t key,
               unsigned flags = IBV_SEND_SIGNALED);
  ibv_sge Segment(size_t offset, uint32_t length) const;

  // One completion, or none.
  std::optional<ibv_wc> PollSends() { return Poll(send_queue); }
  std::optional<ibv_wc> PollReceives() { return Poll(receive_queue); }
  static std::optional<ibv_wc> Poll(ibv_cq* queue);

  // One turn of the device, as a poll gives it.
  void Turn();
  // Has the queue pair supervised, by a time that passes here only, until it wants that no more: what it sent is done,
  // or its peer is given up. How much time that was. Only without the device's own thread.
  std::chrono::milliseconds SuperviseToTheEnd();

  ibv_qp_state State() const { return Query().qp_state; }
  ibv_qp_attr Query() const;
  int EnterError();

  void Fill(size_t offset, const std::string& text);
  std::string Text(size_t offset, size_t length) const;
  uint64_t Address(size_t offset) const { return reinterpret_cast<uint64_t>(memory.data() + offset); }

  ibv_context* context;
  ibv_pd* domain = nullptr;
  bool owns_domain;
  bool owns_receive_queue;
  ibv_comp_channel* channel = nullptr;
  ibv_cq* send_queue = nullptr;
  ibv_cq* receive_queue = nullptr;
  ibv_srq* shared = nullptr;
  ibv_qp* queue_pair = nullptr;
  std::vector<std::byte> memory;
  ibv_mr* region = nullptr;
};

// Links two ends of this process. Both are RTS afterwards.
void Link(TestEnd& active, TestEnd& passive, const LinkParameters& parameters = {});

// Under OneSidedPolicy::kAsking, two that poll steadily.
struct LinkedPair {
  explicit LinkedPair(const EndOptions& options = {}, const LinkParameters& parameters = {});

  // The next completion of the left end's sends, while the right end's device has its turns too; none after many turns.
  std::optional<ibv_wc> AwaitSend() { return AwaitSend(left, right); }
  // Of one end's, while the other's device has its turns.
  static std::optional<ibv_wc> AwaitSend(TestEnd& sender, TestEnd& other);
  // Many turns of both devices; nothing is taken out of the completion queues.
  void Turn(int turns = 100);

  TestEnd left;
  TestEnd right;
};

// The next asynchronous event of the device, acknowledged; none if none waits.
std::optional<ibv_async_event> NextAsyncEvent();

// Whatever asynchronous events wait, acknowledged.
void DropAsyncEvents();

// The queue whose event waits at `channel`, acknowledged; null if none waits.
ibv_cq* NextCompletionEvent(ibv_comp_channel* channel);

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_TESTING_LINKED_PAIR_H_
