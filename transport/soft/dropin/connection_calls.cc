// librdmacm: the connection manager.

#include <rdma/rdma_cma.h>

#include "transport/soft/c_boundary.h"
#include "transport/soft/cm_api.h"

using namespace verbena::soft;

extern "C" {

rdma_event_channel* rdma_create_event_channel() {
  return OrNull([=] { return CmCreateEventChannel(); });
}

void rdma_destroy_event_channel(rdma_event_channel* channel) {
  OrNothing([=] { CmDestroyEventChannel(channel); });
}

int rdma_get_cm_event(rdma_event_channel* channel, rdma_cm_event** event) {
  return OrMinusOne([=] { return CmGetEvent(channel, event); });
}

int rdma_ack_cm_event(rdma_cm_event* event) {
  return OrMinusOne([=] { return CmAckEvent(event); });
}

const char* rdma_event_str(rdma_cm_event_type event) { return CmEventName(event); }

int rdma_create_id(rdma_event_channel* channel, rdma_cm_id** id, void* context, rdma_port_space space) {
  return OrMinusOne([=] { return CmCreateId(channel, id, context, space); });
}

int rdma_destroy_id(rdma_cm_id* id) {
  return OrMinusOne([=] { return CmDestroyId(id); });
}

int rdma_migrate_id(rdma_cm_id* id, rdma_event_channel* channel) {
  return OrMinusOne([=] { return CmMigrateId(id, channel); });
}

int rdma_set_option(rdma_cm_id* id, int level, int name, void* value, size_t length) {
  return OrMinusOne([=] { return CmSetOption(id, level, name, value, length); });
}

int rdma_bind_addr(rdma_cm_id* id, sockaddr* address) {
  return OrMinusOne([=] { return CmBindAddr(id, address); });
}

int rdma_resolve_addr(rdma_cm_id* id, sockaddr* source, sockaddr* destination, int timeout_ms) {
  return OrMinusOne([=] { return CmResolveAddr(id, source, destination, timeout_ms); });
}

int rdma_resolve_route(rdma_cm_id* id, int timeout_ms) {
  return OrMinusOne([=] { return CmResolveRoute(id, timeout_ms); });
}

int rdma_getaddrinfo(const char* node, const char* service, const rdma_addrinfo* hints, rdma_addrinfo** result) {
  return OrMinusOne([=] { return CmGetAddrInfo(node, service, hints, result); });
}

void rdma_freeaddrinfo(rdma_addrinfo* info) {
  OrNothing([=] { CmFreeAddrInfo(info); });
}

int rdma_listen(rdma_cm_id* id, int backlog) {
  return OrMinusOne([=] { return CmListen(id, backlog); });
}

__be16 rdma_get_src_port(rdma_cm_id* id) { return CmGetSrcPort(id); }

__be16 rdma_get_dst_port(rdma_cm_id* id) { return CmGetDstPort(id); }

int rdma_connect(rdma_cm_id* id, rdma_conn_param* parameters) {
  return OrMinusOne([=] { return CmConnect(id, parameters); });
}

int rdma_establish(rdma_cm_id* id) {
  return OrMinusOne([=] { return CmEstablish(id); });
}

int rdma_accept(rdma_cm_id* id, rdma_conn_param* parameters) {
  return OrMinusOne([=] { return CmAccept(id, parameters); });
}

int rdma_reject(rdma_cm_id* id, const void* private_data, uint8_t length) {
  return OrMinusOne([=] { return CmReject(id, private_data, length); });
}

int rdma_reject_ece(rdma_cm_id* id, const void* private_data, uint8_t length) {
  return OrMinusOne([=] { return CmRejectEce(id, private_data, length); });
}

int rdma_disconnect(rdma_cm_id* id) {
  return OrMinusOne([=] { return CmDisconnect(id); });
}

int rdma_notify(rdma_cm_id* id, ibv_event_type event) {
  return OrMinusOne([=] { return CmNotify(id, event); });
}

int rdma_init_qp_attr(rdma_cm_id* id, ibv_qp_attr* attributes, int* mask) {
  return OrMinusOne([=] { return CmInitQpAttr(id, attributes, mask); });
}

int rdma_set_local_ece(rdma_cm_id* id, ibv_ece* ece) {
  return OrMinusOne([=] { return CmSetLocalEce(id, ece); });
}

int rdma_get_remote_ece(rdma_cm_id* id, ibv_ece* ece) {
  return OrMinusOne([=] { return CmGetRemoteEce(id, ece); });
}

int rdma_create_ep(rdma_cm_id** id, rdma_addrinfo* info, ibv_pd* domain, ibv_qp_init_attr* attributes) {
  return OrMinusOne([=] { return CmCreateEp(id, info, domain, attributes); });
}

void rdma_destroy_ep(rdma_cm_id* id) {
  OrNothing([=] { CmDestroyEp(id); });
}

int rdma_get_request(rdma_cm_id* listener, rdma_cm_id** id) {
  return OrMinusOne([=] { return CmGetRequest(listener, id); });
}

int rdma_create_qp(rdma_cm_id* id, ibv_pd* domain, ibv_qp_init_attr* attributes) {
  return OrMinusOne([=] { return CmCreateQp(id, domain, attributes); });
}

int rdma_create_qp_ex(rdma_cm_id* id, ibv_qp_init_attr_ex* attributes) {
  return OrMinusOne([=] { return CmCreateQpEx(id, attributes); });
}

void rdma_destroy_qp(rdma_cm_id* id) {
  OrNothing([=] { CmDestroyQp(id); });
}

int rdma_create_srq(rdma_cm_id* id, ibv_pd* domain, ibv_srq_init_attr* attributes) {
  return OrMinusOne([=] { return CmCreateSrq(id, domain, attributes); });
}

int rdma_create_srq_ex(rdma_cm_id* id, ibv_srq_init_attr_ex* attributes) {
  return OrMinusOne([=] { return CmCreateSrqEx(id, attributes); });
}

void rdma_destroy_srq(rdma_cm_id* id) {
  OrNothing([=] { CmDestroySrq(id); });
}

ibv_context** rdma_get_devices(int* count) {
  return OrNull([=] { return CmGetDevices(count); });
}

void rdma_free_devices(ibv_context** list) {
  OrNothing([=] { CmFreeDevices(list); });
}

int rdma_join_multicast(rdma_cm_id* id, sockaddr* address, void* context) {
  return OrMinusOne([=] { return CmJoinMulticast(id, address, context); });
}

int rdma_join_multicast_ex(rdma_cm_id* id, rdma_cm_join_mc_attr_ex* attributes, void* context) {
  return OrMinusOne([=] { return CmJoinMulticastEx(id, attributes, context); });
}

int rdma_leave_multicast(rdma_cm_id* id, sockaddr* address) {
  return OrMinusOne([=] { return CmLeaveMulticast(id, address); });
}

}  // extern "C"
