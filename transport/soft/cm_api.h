// The connection manager of the software device: librdmacm's calls, implemented in this process.
//
// Each function has the signature and the error convention of the man page of its rdma_* namesake
// (CmConnect -> rdma_connect): 0, or -1 with errno set; a failed allocation is a null pointer with errno set. The ids,
// events and channels that are handed out are real librdmacm structures, and only these functions may be given them.
//
// What differs from librdmacm, by intention:
//  - only RDMA_PS_TCP: other port spaces fail with EPROTONOSUPPORT;
//  - no synchronous mode: an id needs an event channel (a null channel fails with EINVAL);
//  - the network is this host's network namespace, and only processes of the same effective user id can meet. An
//    address of another host resolves to ADDR_ERROR with -ENETUNREACH;
//  - private data is reported with the length that was sent, not padded. At most 56 bytes travel with CmConnect, 196
//    with CmAccept, 148 with CmReject; more fails with EINVAL;
//  - DISCONNECTED comes at most once per side, and TIMEWAIT_EXIT never;
//  - a child made by fork() must not use anything that its parent made here: every call in it fails with ENODEV until
//    it calls exec(). (The parent is not disturbed.)
//
// Threads: any function from any thread, on the terms of librdmacm: no call on an id or a channel that another thread
// is destroying. CmDestroyId and CmMigrateId wait until the events that were taken for that id are acknowledged, so a
// thread that holds such an event must not call them. One control thread serves the whole process (cm_locking.h).

#ifndef VERBENA_TRANSPORT_SOFT_CM_API_H_
#define VERBENA_TRANSPORT_SOFT_CM_API_H_

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

namespace verbena::soft {

// The channel's fd is readable while an event waits. With O_NONBLOCK set on it CmGetEvent fails with EAGAIN instead of
// waiting. Ids must be destroyed or migrated away before their channel.
rdma_event_channel* CmCreateEventChannel();
void CmDestroyEventChannel(rdma_event_channel* channel);
int CmGetEvent(rdma_event_channel* channel, rdma_cm_event** event);
int CmAckEvent(rdma_cm_event* event);

int CmCreateId(rdma_event_channel* channel, rdma_cm_id** id, void* context, rdma_port_space space);
// Closes what is left of the connection without a further event here. Events not yet taken are dropped; those taken are
// waited for. Connection requests that nobody took are rejected. The queue pair must be gone (CmDestroyQp).
int CmDestroyId(rdma_cm_id* id);
int CmMigrateId(rdma_cm_id* id, rdma_event_channel* channel);
int CmSetOption(rdma_cm_id* id, int level, int name, void* value, size_t length);

int CmBindAddr(rdma_cm_id* id, sockaddr* address);
int CmResolveAddr(rdma_cm_id* id, sockaddr* source, sockaddr* destination, int timeout_ms);
int CmResolveRoute(rdma_cm_id* id, int timeout_ms);
int CmListen(rdma_cm_id* id, int backlog);
__be16 CmGetSrcPort(rdma_cm_id* id);

// With a queue pair made by CmCreateQp the connection is complete when ESTABLISHED is reported on both sides. Without
// one CmConnect fails with EINVAL: this device has no other way to make a queue pair.
int CmConnect(rdma_cm_id* id, rdma_conn_param* parameters);
int CmAccept(rdma_cm_id* id, rdma_conn_param* parameters);
int CmReject(rdma_cm_id* id, const void* private_data, uint8_t length);
int CmDisconnect(rdma_cm_id* id);

int CmCreateQp(rdma_cm_id* id, ibv_pd* domain, ibv_qp_init_attr* attributes);
void CmDestroyQp(rdma_cm_id* id);

// A null-terminated list of the one context; `count` may be null. Free the list with CmFreeDevices.
ibv_context** CmGetDevices(int* count);
void CmFreeDevices(ibv_context** list);

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_CM_API_H_
