#include "transport/soft/testing/linked_pair.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstring>
#include <utility>

#include "gtest/gtest.h"
#include "transport/soft/completion_queue.h"
#include "transport/soft/control_path.h"
#include "transport/soft/device.h"
#include "transport/soft/one_sided_policy.h"
#include "transport/soft/queue_pair.h"
#include "transport/soft/testing/must.h"

namespace verbena::soft {
namespace {

void MakeNonBlocking(int fd) { fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK); }

void ExpectDestroyed(int error) { EXPECT_EQ(error, 0) << "what a test leaves must be destroyable"; }

ibv_srq* MakeSharedQueue(ibv_pd* domain, uint32_t receives_max) {
  ibv_srq_init_attr attributes = {};
  attributes.attr.max_wr = receives_max;
  attributes.attr.max_sge = 2;
  return CreateSharedReceiveQueue(domain, &attributes);
}

}  // namespace

ucred OwnCredentials() { return {.pid = getpid(), .uid = geteuid(), .gid = getegid()}; }

TestEnd::TestEnd(const EndOptions& options)
    : context(SoftContext()),
      domain(options.domain),
      owns_domain(options.domain == nullptr),
      owns_receive_queue(options.receive_queue == nullptr),
      receive_queue(options.receive_queue),
      memory(options.memory_bytes) {
  Must(context != nullptr, "a context");
  if (owns_domain) domain = AllocProtectionDomain(context);
  if (options.with_channel) {
    channel = CreateCompletionChannel(context);
    MakeNonBlocking(channel->fd);
  }
  send_queue = CreateCompletionQueue(context, options.completions_max, nullptr, channel, 0);
  if (owns_receive_queue) receive_queue = CreateCompletionQueue(context, options.completions_max, nullptr, channel, 0);
  if (options.shared_receives) shared = MakeSharedQueue(domain, options.receives_max);
  ibv_qp_init_attr attributes = {};
  attributes.qp_type = IBV_QPT_RC;
  attributes.send_cq = send_queue;
  attributes.recv_cq = receive_queue;
  attributes.srq = shared;
  attributes.cap = {.max_send_wr = options.sends_max,
                    .max_recv_wr = options.receives_max,
                    .max_send_sge = 2,
                    .max_recv_sge = 2,
                    .max_inline_data = options.inline_bytes_max};
  if (options.unconnected) {
    queue_pair = CreateUnconnectedQueuePair(domain, &attributes);
    Must(queue_pair != nullptr, "an unconnected queue pair");
  } else {
    Must(CreateQueuePair(domain, &attributes, &queue_pair) == 0, "a queue pair");
  }
  region = RegisterMemory(domain, memory.data(), memory.size(), options.access);
  Must(region != nullptr, "a memory region");
}

TestEnd::~TestEnd() {
  DestroyQueuePair();
  if (shared != nullptr) ExpectDestroyed(DestroySharedReceiveQueue(shared));
  ExpectDestroyed(DestroyCompletionQueue(send_queue));
  if (owns_receive_queue) ExpectDestroyed(DestroyCompletionQueue(receive_queue));
  if (channel != nullptr) ExpectDestroyed(DestroyCompletionChannel(channel));
  if (region != nullptr) DeregisterMemory(region);
  if (owns_domain) ExpectDestroyed(DeallocProtectionDomain(domain));
}

void TestEnd::DestroyQueuePair() {
  if (queue_pair != nullptr) soft::DestroyQueuePair(queue_pair);
  queue_pair = nullptr;
}

ibv_sge TestEnd::Segment(size_t offset, uint32_t length) const {
  return {.addr = Address(offset), .length = length, .lkey = region->lkey};
}

int TestEnd::Receive(uint64_t wr_id, size_t offset, uint32_t length) {
  ibv_sge segment = Segment(offset, length);
  ibv_recv_wr request = {.wr_id = wr_id, .next = nullptr, .sg_list = &segment, .num_sge = 1};
  ibv_recv_wr* bad = nullptr;
  return shared != nullptr ? ibv_post_srq_recv(shared, &request, &bad) : ibv_post_recv(queue_pair, &request, &bad);
}

int TestEnd::Send(uint64_t wr_id, size_t offset, uint32_t length, unsigned flags) {
  ibv_sge segment = Segment(offset, length);
  ibv_send_wr request = {};
  request.wr_id = wr_id;
  request.sg_list = &segment;
  request.num_sge = 1;
  request.opcode = IBV_WR_SEND;
  request.send_flags = flags;
  return Post(request);
}

int TestEnd::Post(ibv_send_wr request) {
  ibv_send_wr* bad = nullptr;
  return ibv_post_send(queue_pair, &request, &bad);
}

int TestEnd::OneSided(uint64_t wr_id, ibv_wr_opcode opcode, size_t offset, uint32_t length, uint64_t remote,
                      uint32_t key, unsigned flags) {
  ibv_sge segment = Segment(offset, length);
  ibv_send_wr request = {};
  request.wr_id = wr_id;
  request.sg_list = &segment;
  request.num_sge = 1;
  request.opcode = opcode;
  request.send_flags = flags;
  request.wr.rdma.remote_addr = remote;
  request.wr.rdma.rkey = key;
  return Post(request);
}

std::optional<ibv_wc> TestEnd::Poll(ibv_cq* queue) {
  ibv_wc completion = {};
  if (ibv_poll_cq(queue, 1, &completion) != 1) return std::nullopt;
  return completion;
}

void TestEnd::Turn() {
  for (ibv_cq* queue : {send_queue, receive_queue}) ibv_poll_cq(queue, 0, nullptr);
}

std::chrono::milliseconds TestEnd::SuperviseToTheEnd() {
  auto& supervised = static_cast<QueuePair&>(*queue_pair);
  PeerPatience::Clock::time_point start{};
  auto now = start;
  while (auto next = supervised.Supervise(now)) now = *next;
  return std::chrono::duration_cast<std::chrono::milliseconds>(now - start);
}

ibv_qp_attr TestEnd::Query() const {
  ibv_qp_attr attributes = {};
  ibv_qp_init_attr initial = {};
  QueryQueuePair(queue_pair, &attributes, 0, &initial);
  return attributes;
}

int TestEnd::EnterError() {
  ibv_qp_attr attributes = {};
  attributes.qp_state = IBV_QPS_ERR;
  return ModifyQueuePair(queue_pair, &attributes, IBV_QP_STATE);
}

void TestEnd::Fill(size_t offset, const std::string& text) {
  std::memcpy(memory.data() + offset, text.data(), text.size());
}

std::string TestEnd::Text(size_t offset, size_t length) const {
  return std::string(reinterpret_cast<const char*>(memory.data()) + offset, length);
}

void Link(TestEnd& active, TestEnd& passive, const LinkParameters& parameters) {
  absl::StatusOr<LinkOffer> offer = MakeOffer(active.queue_pair, parameters);
  Must(offer.ok(), "an offer");
  auto answer = AcceptOffer(passive.queue_pair, *std::move(offer), OwnCredentials(), parameters);
  Must(answer.ok(), "an answer");
  Must(CompleteOffer(active.queue_pair, *std::move(answer), OwnCredentials()).ok(), "a link");
}

LinkedPair::LinkedPair(const EndOptions& options, const LinkParameters& parameters) : left(options), right(options) {
  Link(left, right, parameters);
  if (*TheOneSidedPolicy() == OneSidedPolicy::kAsking) Turn(CompletionQueue::kPollsSteady);
}

void LinkedPair::Turn(int turns) {
  for (int turn = 0; turn < turns; ++turn) {
    left.Turn();
    right.Turn();
  }
}

std::optional<ibv_wc> LinkedPair::AwaitSend(TestEnd& sender, TestEnd& other) {
  constexpr int kTurnsMax = 10'000;
  for (int turn = 0; turn < kTurnsMax; ++turn) {
    if (auto done = sender.PollSends()) return done;
    other.Turn();
  }
  return std::nullopt;
}

std::optional<ibv_async_event> NextAsyncEvent() {
  ibv_context* context = SoftContext();
  MakeNonBlocking(context->async_fd);
  ibv_async_event event = {};
  if (GetAsyncEvent(context, &event) != 0) return std::nullopt;
  AckAsyncEvent(&event);
  return event;
}

void DropAsyncEvents() {
  while (NextAsyncEvent().has_value()) {
  }
}

ibv_cq* NextCompletionEvent(ibv_comp_channel* channel) {
  ibv_cq* queue = nullptr;
  void* user_context = nullptr;
  if (GetCompletionEvent(channel, &queue, &user_context) != 0) return nullptr;
  AckCompletionEvents(queue, 1);
  return queue;
}

}  // namespace verbena::soft
