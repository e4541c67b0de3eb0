// The table of control-path calls: the one place where a real device and the software device differ.
//
// The verbs data path (ibv_post_send, ibv_post_srq_recv, ibv_poll_cq, ibv_req_notify_cq) is inline in
// <infiniband/verbs.h> and dispatches through ibv_context::ops, so it serves any device at no cost and is called
// directly. The control path is exported functions; every one that this project uses stands here as a plain function
// pointer with exactly the signature and the error convention of its man page
// (`ibv_create_qp` -> `create_qp`, `rdma_connect` -> `cm_connect`). The `ibv_` prefix is dropped because some of those
// names are function-like macros in verbs.h.
//
// Three calls are none of rdma-core's: cm_get_peer_credentials, which only a device within one host can answer, and
// map_memory with unmap_memory, where the processor is to be the card.
//
// Two tables exist: RdmaCoreApi() forwards to libibverbs and librdmacm, soft::SoftApi() (transport/soft/soft_api.h) is
// the software device. An object must be destroyed through the table that made it. A table is immutable, process-wide
// and safe to use from any thread; which thread may touch which object is as the man pages say.

#ifndef VERBENA_TRANSPORT_VERBS_VERBS_API_H_
#define VERBENA_TRANSPORT_VERBS_VERBS_API_H_

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include <sys/socket.h>

namespace verbena::verbs {

struct VerbsApi {
  // Which implementation this is: "rdma-core" or "soft". Static storage.
  const char* name;

  // Devices.
  ibv_device** (*get_device_list)(int* count);
  void (*free_device_list)(ibv_device** list);
  const char* (*get_device_name)(ibv_device* device);
  __be64 (*get_device_guid)(ibv_device* device);
  ibv_context* (*open_device)(ibv_device* device);
  int (*close_device)(ibv_context* context);
  int (*query_device)(ibv_context* context, ibv_device_attr* attributes);
  int (*query_port)(ibv_context* context, uint8_t port, ibv_port_attr* attributes);
  int (*query_gid)(ibv_context* context, uint8_t port, int index, ibv_gid* gid);
  int (*get_async_event)(ibv_context* context, ibv_async_event* event);
  void (*ack_async_event)(ibv_async_event* event);

  // Protection domains and memory regions.
  ibv_pd* (*alloc_pd)(ibv_context* context);
  int (*dealloc_pd)(ibv_pd* pd);
  ibv_mr* (*register_memory)(ibv_pd* pd, void* address, size_t length, int access);
  int (*deregister_memory)(ibv_mr* region);
  // Zeros to be registered, from where peers READ at the least cost: whole pages, readable and writable. Null: any
  // memory of the process is as good, or the system refuses. They may be given back in parts; EINVAL: these are none of
  // them.
  void* (*map_memory)(size_t bytes);
  int (*unmap_memory)(void* address, size_t bytes);

  // Completion channels, completion queues, shared receive queues.
  ibv_comp_channel* (*create_comp_channel)(ibv_context* context);
  int (*destroy_comp_channel)(ibv_comp_channel* channel);
  ibv_cq* (*create_cq)(ibv_context* context, int entries, void* cq_context, ibv_comp_channel* channel, int vector);
  int (*destroy_cq)(ibv_cq* cq);
  int (*get_cq_event)(ibv_comp_channel* channel, ibv_cq** cq, void** cq_context);
  void (*ack_cq_events)(ibv_cq* cq, unsigned int count);
  ibv_srq* (*create_srq)(ibv_pd* pd, ibv_srq_init_attr* attributes);
  int (*modify_srq)(ibv_srq* srq, ibv_srq_attr* attributes, int mask);
  int (*query_srq)(ibv_srq* srq, ibv_srq_attr* attributes);
  int (*destroy_srq)(ibv_srq* srq);

  // Queue pairs. They are made by cm_create_qp.
  int (*modify_qp)(ibv_qp* qp, ibv_qp_attr* attributes, int mask);
  int (*query_qp)(ibv_qp* qp, ibv_qp_attr* attributes, int mask, ibv_qp_init_attr* init_attributes);

  // The connection manager.
  rdma_event_channel* (*cm_create_event_channel)();
  void (*cm_destroy_event_channel)(rdma_event_channel* channel);
  int (*cm_create_id)(rdma_event_channel* channel, rdma_cm_id** id, void* context, rdma_port_space space);
  int (*cm_destroy_id)(rdma_cm_id* id);
  int (*cm_bind_addr)(rdma_cm_id* id, sockaddr* address);
  int (*cm_resolve_addr)(rdma_cm_id* id, sockaddr* source, sockaddr* destination, int timeout_ms);
  int (*cm_resolve_route)(rdma_cm_id* id, int timeout_ms);
  int (*cm_listen)(rdma_cm_id* id, int backlog);
  int (*cm_connect)(rdma_cm_id* id, rdma_conn_param* parameters);
  int (*cm_accept)(rdma_cm_id* id, rdma_conn_param* parameters);
  int (*cm_reject)(rdma_cm_id* id, const void* private_data, uint8_t length);
  int (*cm_disconnect)(rdma_cm_id* id);
  int (*cm_create_qp)(rdma_cm_id* id, ibv_pd* pd, ibv_qp_init_attr* attributes);
  void (*cm_destroy_qp)(rdma_cm_id* id);
  int (*cm_migrate_id)(rdma_cm_id* id, rdma_event_channel* channel);
  int (*cm_set_option)(rdma_cm_id* id, int level, int name, void* value, size_t length);
  int (*cm_get_event)(rdma_event_channel* channel, rdma_cm_event** event);
  int (*cm_ack_event)(rdma_cm_event* event);
  __be16 (*cm_get_src_port)(rdma_cm_id* id);
  // The kernel's word on the process at the other end of a connection that is accepted or established, as of its
  // connect(2) or listen(2): 0, or -1 with errno. EOPNOTSUPP: it has none to give.
  int (*cm_get_peer_credentials)(rdma_cm_id* id, ucred* credentials);
  ibv_context** (*cm_get_devices)(int* count);  // Contexts opened by the connection manager; id->verbs is one of them.
  void (*cm_free_devices)(ibv_context** list);
};

// The table that forwards to rdma-core's libibverbs and librdmacm.
const VerbsApi& RdmaCoreApi();

}  // namespace verbena::verbs

#endif  // VERBENA_TRANSPORT_VERBS_VERBS_API_H_
