#include "transport/soft/testing/soft_node.h"

#include <arpa/inet.h>
#include <poll.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "gtest/gtest.h"
#include "transport/soft/soft_api.h"

namespace verbena::soft {
namespace {

constexpr std::chrono::seconds kPatience(10);
constexpr int kCompletionsMax = 4096;
constexpr uint32_t kSendsPerQueuePair = 8;

// Of either family.
sockaddr_storage Address(const char* text, uint16_t port) {
  sockaddr_storage raw = {};
  auto* in = reinterpret_cast<sockaddr_in*>(&raw);
  auto* in6 = reinterpret_cast<sockaddr_in6*>(&raw);
  if (inet_pton(AF_INET, text, &in->sin_addr) == 1) {
    in->sin_family = AF_INET;
    in->sin_port = htons(port);
  } else {
    EXPECT_EQ(inet_pton(AF_INET6, text, &in6->sin6_addr), 1) << text;
    in6->sin6_family = AF_INET6;
    in6->sin6_port = htons(port);
  }
  return raw;
}

// As floor 3 connects: no retries of a receiver that is not ready would hide a flow control error, but these tests have
// no flow control, so "for ever".
rdma_conn_param Parameters() {
  rdma_conn_param parameters = {};
  parameters.responder_resources = 4;
  parameters.initiator_depth = 4;
  parameters.retry_count = 7;
  parameters.rnr_retry_count = 7;
  return parameters;
}

}  // namespace

SoftNode::SoftNode() : api_(SoftApi()), buffer_(kSlots * kSlotBytes) {
  channel_ = api_.cm_create_event_channel();
  contexts_ = api_.cm_get_devices(nullptr);
  domain_ = api_.alloc_pd(contexts_[0]);
  completions_ = api_.create_cq(contexts_[0], kCompletionsMax, nullptr, nullptr, 0);
  ibv_srq_init_attr attributes = {};
  attributes.attr.max_wr = kSlots;
  attributes.attr.max_sge = 1;
  receives_ = api_.create_srq(domain_, &attributes);
  region_ = api_.register_memory(domain_, buffer_.data(), buffer_.size(),
                                 IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE);
  EXPECT_TRUE(channel_ != nullptr && domain_ != nullptr && completions_ != nullptr);
  EXPECT_TRUE(receives_ != nullptr && region_ != nullptr);
}

SoftNode::~SoftNode() {
  while (!ids_.empty()) Destroy(ids_.back());
  EXPECT_EQ(api_.destroy_srq(receives_), 0);
  EXPECT_EQ(api_.destroy_cq(completions_), 0);
  EXPECT_EQ(api_.deregister_memory(region_), 0);
  for (ibv_mr* region : more_regions_) EXPECT_EQ(api_.deregister_memory(region), 0);
  EXPECT_EQ(api_.dealloc_pd(domain_), 0);
  api_.cm_destroy_event_channel(channel_);
  api_.cm_free_devices(contexts_);
}

rdma_cm_id* SoftNode::NewId() {
  rdma_cm_id* id = nullptr;
  EXPECT_EQ(api_.cm_create_id(channel_, &id, nullptr, RDMA_PS_TCP), 0);
  ids_.push_back(id);
  return id;
}

rdma_cm_id* SoftNode::Listen(const char* address) {
  rdma_cm_id* id = NewId();
  sockaddr_storage raw = Address(address, 0);
  EXPECT_EQ(api_.cm_bind_addr(id, reinterpret_cast<sockaddr*>(&raw)), 0);
  EXPECT_EQ(api_.cm_listen(id, 0), 0);
  return id;
}

uint16_t SoftNode::PortOf(rdma_cm_id* id) { return ntohs(api_.cm_get_src_port(id)); }

rdma_cm_id* SoftNode::Connect(uint16_t port, const char* address) {
  rdma_cm_id* id = NewId();
  sockaddr_storage raw = Address(address, port);
  EXPECT_EQ(api_.cm_resolve_addr(id, nullptr, reinterpret_cast<sockaddr*>(&raw), 1000), 0);
  EXPECT_EQ(NextEvent(), RDMA_CM_EVENT_ADDR_RESOLVED);
  EXPECT_EQ(api_.cm_resolve_route(id, 1000), 0);
  EXPECT_EQ(NextEvent(), RDMA_CM_EVENT_ROUTE_RESOLVED);
  MakeQueuePair(id);
  rdma_conn_param parameters = Parameters();
  EXPECT_EQ(api_.cm_connect(id, &parameters), 0);
  return id;
}

rdma_cm_id* SoftNode::AcceptNext() {
  rdma_cm_event* event = TakeEvent();
  if (event == nullptr) return nullptr;
  EXPECT_EQ(event->event, RDMA_CM_EVENT_CONNECT_REQUEST);
  rdma_cm_id* id = event->id;
  api_.cm_ack_event(event);
  ids_.push_back(id);
  MakeQueuePair(id);
  rdma_conn_param parameters = Parameters();
  EXPECT_EQ(api_.cm_accept(id, &parameters), 0);
  return id;
}

void SoftNode::MakeQueuePair(rdma_cm_id* id) {
  ibv_qp_init_attr attributes = {};
  attributes.qp_type = IBV_QPT_RC;
  attributes.send_cq = attributes.recv_cq = completions_;
  attributes.srq = receives_;
  attributes.cap.max_send_wr = kSendsPerQueuePair;
  attributes.cap.max_send_sge = 1;
  EXPECT_EQ(api_.cm_create_qp(id, domain_, &attributes), 0);
}

void SoftNode::Destroy(rdma_cm_id* id) {
  ids_.erase(std::find(ids_.begin(), ids_.end(), id));
  api_.cm_destroy_qp(id);
  EXPECT_EQ(api_.cm_destroy_id(id), 0);
}

rdma_cm_event* SoftNode::TakeEvent() {
  pollfd waiting = {channel_->fd, POLLIN, 0};
  rdma_cm_event* event = nullptr;
  int patience_ms = static_cast<int>(std::chrono::milliseconds(kPatience).count());
  if (poll(&waiting, 1, patience_ms) == 1) {
    EXPECT_EQ(api_.cm_get_event(channel_, &event), 0);
  } else {
    ADD_FAILURE() << "no event";
  }
  return event;
}

int SoftNode::NextEvent() {
  rdma_cm_event* event = TakeEvent();
  if (event == nullptr) return -1;
  int type = event->event;
  EXPECT_EQ(api_.cm_ack_event(event), 0);
  return type;
}

ibv_mr* SoftNode::Register(void* memory, size_t bytes) {
  ibv_mr* region = api_.register_memory(
      domain_, memory, bytes,
      IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC);
  EXPECT_NE(region, nullptr);
  more_regions_.push_back(region);
  return region;
}

void SoftNode::PostReceive(size_t slot) {
  ibv_sge part = {reinterpret_cast<uint64_t>(Slot(slot)), kSlotBytes, region_->lkey};
  ibv_recv_wr request = {};
  request.wr_id = slot;
  request.sg_list = &part;
  request.num_sge = 1;
  ibv_recv_wr* bad = nullptr;
  EXPECT_EQ(ibv_post_srq_recv(receives_, &request, &bad), 0);
}

void SoftNode::PostSend(rdma_cm_id* id, size_t slot, const std::string& text) {
  memcpy(Slot(slot), text.data(), text.size());
  ibv_sge part = {reinterpret_cast<uint64_t>(Slot(slot)), static_cast<uint32_t>(text.size()), region_->lkey};
  ibv_send_wr request = {};
  request.wr_id = slot;
  request.sg_list = &part;
  request.num_sge = 1;
  request.opcode = IBV_WR_SEND;
  Post(id, request);
}

void SoftNode::PostRead(rdma_cm_id* id, size_t slot, uint64_t address, uint32_t key, uint32_t length) {
  ibv_sge part = {reinterpret_cast<uint64_t>(Slot(slot)), length, region_->lkey};
  ibv_send_wr request = {};
  request.wr_id = slot;
  request.sg_list = &part;
  request.num_sge = 1;
  request.opcode = IBV_WR_RDMA_READ;
  request.wr.rdma.remote_addr = address;
  request.wr.rdma.rkey = key;
  Post(id, request);
}

void SoftNode::Post(rdma_cm_id* id, ibv_send_wr request) {
  request.send_flags |= IBV_SEND_SIGNALED;
  ibv_send_wr* bad = nullptr;
  EXPECT_EQ(ibv_post_send(id->qp, &request, &bad), 0);
}

ibv_wc SoftNode::NextCompletion() {
  ibv_wc completion = {};
  auto give_up = std::chrono::steady_clock::now() + kPatience;
  while (ibv_poll_cq(completions_, 1, &completion) == 0) {
    if (std::chrono::steady_clock::now() > give_up) {
      ADD_FAILURE() << "no completion";
      completion.status = IBV_WC_GENERAL_ERR;
      completion.wr_id = ~uint64_t{0};
      break;
    }
    sched_yield();
  }
  return completion;
}

bool SoftNode::NothingCompleted() {
  ibv_wc completion;
  return ibv_poll_cq(completions_, 1, &completion) == 0;
}

}  // namespace verbena::soft
