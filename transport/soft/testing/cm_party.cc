#include "transport/soft/testing/cm_party.h"

#include <arpa/inet.h>
#include <poll.h>

#include <algorithm>

#include "gtest/gtest.h"
#include "transport/soft/cm_api.h"
#include "transport/soft/fake_engine.h"

namespace verbena::soft {
namespace {

constexpr int kPatienceMs = 10000;

rdma_conn_param Parameters(const std::string& private_data) {
  rdma_conn_param parameters = {};
  parameters.private_data = private_data.data();
  parameters.private_data_len = static_cast<uint8_t>(private_data.size());
  parameters.responder_resources = 3;
  parameters.initiator_depth = 2;
  parameters.retry_count = 5;
  parameters.rnr_retry_count = 6;
  return parameters;
}

}  // namespace

sockaddr_in Address4(const char* text, uint16_t port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  EXPECT_EQ(inet_pton(AF_INET, text, &address.sin_addr), 1);
  return address;
}

uint16_t PortOf(rdma_cm_id* id) { return ntohs(CmGetSrcPort(id)); }

CmParty::CmParty() : channel_(CmCreateEventChannel()) { EXPECT_NE(channel_, nullptr); }

CmParty::~CmParty() {
  while (!ids_.empty()) Destroy(ids_.back());
  CmDestroyEventChannel(channel_);
}

rdma_cm_id* CmParty::NewId() {
  rdma_cm_id* id = nullptr;
  EXPECT_EQ(CmCreateId(channel_, &id, this, RDMA_PS_TCP), 0);
  ids_.push_back(id);
  return id;
}

void CmParty::Destroy(rdma_cm_id* id) {
  ids_.erase(std::find(ids_.begin(), ids_.end(), id));
  CmDestroyQp(id);
  EXPECT_EQ(CmDestroyId(id), 0);
}

rdma_cm_id* CmParty::Listen(int backlog) {
  rdma_cm_id* id = NewId();
  sockaddr_in address = Address4("127.0.0.1", 0);
  EXPECT_EQ(CmBindAddr(id, reinterpret_cast<sockaddr*>(&address)), 0);
  EXPECT_EQ(CmListen(id, backlog), 0);
  return id;
}

rdma_cm_id* CmParty::Resolve(uint16_t port) {
  rdma_cm_id* id = NewId();
  sockaddr_in address = Address4("127.0.0.1", port);
  EXPECT_EQ(CmResolveAddr(id, nullptr, reinterpret_cast<sockaddr*>(&address), 1000), 0);
  EXPECT_EQ(Next().type, RDMA_CM_EVENT_ADDR_RESOLVED);
  EXPECT_EQ(CmResolveRoute(id, 1000), 0);
  EXPECT_EQ(Next().type, RDMA_CM_EVENT_ROUTE_RESOLVED);
  MakeQueuePair(id);
  return id;
}

void CmParty::MakeQueuePair(rdma_cm_id* id) {
  ibv_qp_init_attr attributes = FakeQueuePairAttributes();
  EXPECT_EQ(CmCreateQp(id, FakeDomain(), &attributes), 0);
}

int CmParty::Connect(rdma_cm_id* id, const std::string& private_data) {
  rdma_conn_param parameters = Parameters(private_data);
  return CmConnect(id, &parameters);
}

int CmParty::Accept(rdma_cm_id* id, const std::string& private_data) {
  rdma_conn_param parameters = Parameters(private_data);
  return CmAccept(id, &parameters);
}

rdma_cm_event* CmParty::Take() {
  pollfd waiting = {channel_->fd, POLLIN, 0};
  rdma_cm_event* event = nullptr;
  if (poll(&waiting, 1, kPatienceMs) == 1) {
    EXPECT_EQ(CmGetEvent(channel_, &event), 0);
  } else {
    ADD_FAILURE() << "no event";
  }
  return event;
}

SeenEvent CmParty::Next() {
  rdma_cm_event* event = Take();
  if (event == nullptr) return {};
  SeenEvent seen = {event->event, event->status, event->id, event->listen_id, event->param.conn, ""};
  const auto* private_data = static_cast<const char*>(seen.parameters.private_data);
  if (private_data != nullptr) seen.private_data.assign(private_data, seen.parameters.private_data_len);
  seen.parameters.private_data = nullptr;
  EXPECT_EQ(CmAckEvent(event), 0);
  if (seen.type == RDMA_CM_EVENT_CONNECT_REQUEST) ids_.push_back(seen.id);
  return seen;
}

bool CmParty::Quiet() const {
  pollfd waiting = {channel_->fd, POLLIN, 0};
  return poll(&waiting, 1, 0) == 0;
}

ConnectedIds ConnectParties(CmParty& active, CmParty& passive) {
  ConnectedIds ids;
  ids.listener = passive.Listen();
  ids.active = active.Resolve(PortOf(ids.listener));
  EXPECT_EQ(active.Connect(ids.active), 0);
  ids.passive = passive.Next().id;
  passive.MakeQueuePair(ids.passive);
  EXPECT_EQ(passive.Accept(ids.passive), 0);
  EXPECT_EQ(active.Next().type, RDMA_CM_EVENT_ESTABLISHED);
  EXPECT_EQ(passive.Next().type, RDMA_CM_EVENT_ESTABLISHED);
  return ids;
}

}  // namespace verbena::soft
