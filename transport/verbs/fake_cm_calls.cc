// The connection manager of the fake table.

#include <cerrno>
#include <cstring>

#include "transport/verbs/fake_calls.h"

namespace verbena::verbs {
namespace {

rdma_event_channel* CmCreateEventChannel() {
  auto* channel = Make<rdma_event_channel>("cm_create_event_channel", "event channel");
  if (channel != nullptr) channel->fd = Descriptor();
  return channel;
}

void CmDestroyEventChannel(rdma_event_channel* channel) {
  close(channel->fd);
  Destroy("cm_destroy_event_channel", channel, "event channel");
}

int CmCreateId(rdma_event_channel* channel, rdma_cm_id** id, void*, rdma_port_space) {
  *id = Make<rdma_cm_id>("cm_create_id", "id");
  if (*id == nullptr) return -1;
  (*id)->channel = channel;
  (*id)->verbs = current->context();
  return 0;
}
int CmDestroyId(rdma_cm_id* id) { return Destroy("cm_destroy_id", id, "id"); }

int CmBindAddr(rdma_cm_id* id, sockaddr* address) {
  memcpy(&id->route.addr.src_sin, address, sizeof(sockaddr_in));
  return Outcome("cm_bind_addr");
}

int CmResolveAddr(rdma_cm_id* id, sockaddr*, sockaddr* destination, int timeout_ms) {
  memcpy(&id->route.addr.dst_sin, destination, sizeof(sockaddr_in));
  current->resolve_timeout_ms = timeout_ms;
  return Outcome("cm_resolve_addr");
}

int CmResolveRoute(rdma_cm_id*, int) { return Outcome("cm_resolve_route"); }
int CmListen(rdma_cm_id*, int) { return Outcome("cm_listen"); }

void KeepParameters(const rdma_conn_param& parameters) {
  current->connect_parameters = parameters;
  current->private_data.assign(static_cast<const char*>(parameters.private_data), parameters.private_data_len);
}

int CmConnect(rdma_cm_id*, rdma_conn_param* parameters) {
  KeepParameters(*parameters);
  return Outcome("cm_connect");
}

int CmAccept(rdma_cm_id*, rdma_conn_param* parameters) {
  KeepParameters(*parameters);
  return Outcome("cm_accept");
}

int CmReject(rdma_cm_id*, const void* private_data, uint8_t length) {
  current->private_data.assign(static_cast<const char*>(private_data), length);
  return Outcome("cm_reject");
}

int CmDisconnect(rdma_cm_id*) { return Outcome("cm_disconnect"); }

int CmCreateQp(rdma_cm_id* id, ibv_pd*, ibv_qp_init_attr* attributes) {
  if (Outcome("cm_create_qp") != 0) return -1;
  if (attributes->cap.max_inline_data > current->inline_bytes_max) {
    errno = EINVAL;
    return -1;
  }
  id->qp = new ibv_qp();
  id->qp->context = current->context();
  id->qp->qp_num = 17;
  current->Add(id->qp, "qp");
  return 0;
}

void CmDestroyQp(rdma_cm_id* id) {
  Destroy("cm_destroy_qp", id->qp, "qp");
  id->qp = nullptr;
}

int CmMigrateId(rdma_cm_id* id, rdma_event_channel* channel) {
  if (Outcome("cm_migrate_id") != 0) return -1;
  id->channel = channel;
  return 0;
}

int CmSetOption(rdma_cm_id*, int, int name, void* value, size_t length) {
  current->option = {name, std::string(static_cast<const char*>(value), length)};
  return Outcome("cm_set_option");
}

int CmGetEvent(rdma_event_channel*, rdma_cm_event** event) {
  if (current->cm_events.empty()) current->Fail("cm_get_event", EAGAIN);
  if (Outcome("cm_get_event") != 0) return -1;
  *event = new rdma_cm_event(current->cm_events.front());
  current->Add(*event, "event");
  current->cm_events.pop_front();
  return 0;
}
int CmAckEvent(rdma_cm_event* event) { return Destroy("cm_ack_event", event, "event"); }

ibv_context** CmGetDevices(int* count) {
  if (Outcome("cm_get_devices") != 0) return nullptr;
  *count = 1;
  auto** list = new ibv_context* [2] { current->context(), nullptr };
  current->Add(list, "context list");
  return list;
}

void CmFreeDevices(ibv_context** list) {
  current->Begin("cm_free_devices");
  current->Remove(list, "context list");
  delete[] list;
}

int CmGetPeerCredentials(rdma_cm_id*, ucred* credentials) {
  *credentials = {.pid = 1, .uid = 2, .gid = 3};
  return Outcome("cm_get_peer_credentials");
}

}  // namespace

void AddCmCalls(VerbsApi& api) {
  api.cm_create_event_channel = CmCreateEventChannel;
  api.cm_destroy_event_channel = CmDestroyEventChannel;
  api.cm_create_id = CmCreateId;
  api.cm_destroy_id = CmDestroyId;
  api.cm_bind_addr = CmBindAddr;
  api.cm_resolve_addr = CmResolveAddr;
  api.cm_resolve_route = CmResolveRoute;
  api.cm_listen = CmListen;
  api.cm_connect = CmConnect;
  api.cm_accept = CmAccept;
  api.cm_reject = CmReject;
  api.cm_disconnect = CmDisconnect;
  api.cm_create_qp = CmCreateQp;
  api.cm_destroy_qp = CmDestroyQp;
  api.cm_migrate_id = CmMigrateId;
  api.cm_set_option = CmSetOption;
  api.cm_get_event = CmGetEvent;
  api.cm_ack_event = CmAckEvent;
  api.cm_get_src_port = [](rdma_cm_id* id) -> __be16 { return id->route.addr.src_sin.sin_port; };
  api.cm_get_peer_credentials = CmGetPeerCredentials;
  api.cm_get_devices = CmGetDevices;
  api.cm_free_devices = CmFreeDevices;
}

}  // namespace verbena::verbs
