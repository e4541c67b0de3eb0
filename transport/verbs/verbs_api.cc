#include "transport/verbs/verbs_api.h"

#include <cerrno>

namespace verbena::verbs {
namespace {

// These two are macros over other exports in verbs.h, so they need a function of their own to point at.
int QueryPort(ibv_context* context, uint8_t port, ibv_port_attr* attributes) {
  return ibv_query_port(context, port, attributes);
}

ibv_mr* RegisterMemory(ibv_pd* pd, void* address, size_t length, int access) {
  return ibv_reg_mr(pd, address, length, access);
}

// A card reads any registered memory alike.
void* MapNoMemory(size_t) { return nullptr; }

int UnmapNoMemory(void*, size_t) { return EINVAL; }

int NoPeerCredentials(rdma_cm_id*, ucred*) {
  errno = EOPNOTSUPP;
  return -1;
}

}  // namespace

const VerbsApi& RdmaCoreApi() {
  static constexpr VerbsApi kApi = {
      .name = "rdma-core",
      .get_device_list = ibv_get_device_list,
      .free_device_list = ibv_free_device_list,
      .get_device_name = ibv_get_device_name,
      .get_device_guid = ibv_get_device_guid,
      .open_device = ibv_open_device,
      .close_device = ibv_close_device,
      .query_device = ibv_query_device,
      .query_port = QueryPort,
      .query_gid = ibv_query_gid,
      .get_async_event = ibv_get_async_event,
      .ack_async_event = ibv_ack_async_event,
      .alloc_pd = ibv_alloc_pd,
      .dealloc_pd = ibv_dealloc_pd,
      .register_memory = RegisterMemory,
      .deregister_memory = ibv_dereg_mr,
      .map_memory = MapNoMemory,
      .unmap_memory = UnmapNoMemory,
      .create_comp_channel = ibv_create_comp_channel,
      .destroy_comp_channel = ibv_destroy_comp_channel,
      .create_cq = ibv_create_cq,
      .destroy_cq = ibv_destroy_cq,
      .get_cq_event = ibv_get_cq_event,
      .ack_cq_events = ibv_ack_cq_events,
      .create_srq = ibv_create_srq,
      .modify_srq = ibv_modify_srq,
      .query_srq = ibv_query_srq,
      .destroy_srq = ibv_destroy_srq,
      .modify_qp = ibv_modify_qp,
      .query_qp = ibv_query_qp,
      .cm_create_event_channel = rdma_create_event_channel,
      .cm_destroy_event_channel = rdma_destroy_event_channel,
      .cm_create_id = rdma_create_id,
      .cm_destroy_id = rdma_destroy_id,
      .cm_bind_addr = rdma_bind_addr,
      .cm_resolve_addr = rdma_resolve_addr,
      .cm_resolve_route = rdma_resolve_route,
      .cm_listen = rdma_listen,
      .cm_connect = rdma_connect,
      .cm_accept = rdma_accept,
      .cm_reject = rdma_reject,
      .cm_disconnect = rdma_disconnect,
      .cm_create_qp = rdma_create_qp,
      .cm_destroy_qp = rdma_destroy_qp,
      .cm_migrate_id = rdma_migrate_id,
      .cm_set_option = rdma_set_option,
      .cm_get_event = rdma_get_cm_event,
      .cm_ack_event = rdma_ack_cm_event,
      .cm_get_src_port = rdma_get_src_port,
      .cm_get_peer_credentials = NoPeerCredentials,
      .cm_get_devices = rdma_get_devices,
      .cm_free_devices = rdma_free_devices,
  };
  return kApi;
}

}  // namespace verbena::verbs
