// The connection manager of the software device: librdmacm's calls, implemented in this process.
//
// Each function has the signature and the error convention of the man page of its rdma_* namesake
// (CmConnect -> rdma_connect): 0, or -1 with errno set; a failed allocation is a null pointer with errno set. The ids,
// events and channels that are handed out are real librdmacm structures, and only these functions may be given them.
//
// What differs from librdmacm, by intention:
//  - only RDMA_PS_TCP: other port spaces fail with EPROTONOSUPPORT, and with them multicast, with EOPNOTSUPP;
//  - no enhanced connection establishment (ECE): setting it fails with EOPNOTSUPP, and no peer offers any;
//  - private data is reported with the length that was sent, not padded. At most 56 bytes travel with CmConnect, 196
//    with CmAccept, 148 with CmReject; more fails with EINVAL;
//  - a disconnect is reported to the side that asked for it at once, not when the peer has answered;
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

// Events.

// The channel's fd is readable while an event waits. With O_NONBLOCK set on it CmGetEvent fails with EAGAIN instead of
// waiting. Ids must be destroyed or migrated away before their channel. A thread that waits when another destroys the
// channel waits on, as in librdmacm, also if it is between two events; else CmGetEvent of a channel that is not there
// fails with EBADF.
rdma_event_channel* CmCreateEventChannel();
void CmDestroyEventChannel(rdma_event_channel* channel);
int CmGetEvent(rdma_event_channel* channel, rdma_cm_event** event);
int CmAckEvent(rdma_cm_event* event);
const char* CmEventName(rdma_cm_event_type type);

// Ids.

// Without a channel the id is synchronous: it gets one of its own, each call that leads to an event waits for it and
// fails with its error, and the event stays in id->event until the next such call. A rejected connect fails with
// ECONNREFUSED.
int CmCreateId(rdma_event_channel* channel, rdma_cm_id** id, void* context, rdma_port_space space);
// Closes what is left of the connection without a further event here. Events not yet taken are dropped; those taken are
// waited for. Connection requests that nobody took are rejected. The queue pair must be gone (CmDestroyQp).
int CmDestroyId(rdma_cm_id* id);
// Without a channel the id becomes synchronous, which it must not be already (EINVAL).
int CmMigrateId(rdma_cm_id* id, rdma_event_channel* channel);
int CmSetOption(rdma_cm_id* id, int level, int name, void* value, size_t length);

// Addresses. To resolve one takes no time here, so the time-outs are never reached.

int CmBindAddr(rdma_cm_id* id, sockaddr* address);
int CmResolveAddr(rdma_cm_id* id, sockaddr* source, sockaddr* destination, int timeout_ms);
int CmResolveRoute(rdma_cm_id* id, int timeout_ms);
__be16 CmGetSrcPort(rdma_cm_id* id);
__be16 CmGetDstPort(rdma_cm_id* id);
// libc's getaddrinfo, in other clothes: its errors (EAI_*) are returned as they are, others as -1 with errno. Without a
// node and a service, the hints' addresses are copied.
int CmGetAddrInfo(const char* node, const char* service, const rdma_addrinfo* hints, rdma_addrinfo** result);
void CmFreeAddrInfo(rdma_addrinfo* info);

// Connections.

// A backlog out of range is the largest, 1024. Requests past it are rejected.
int CmListen(rdma_cm_id* id, int backlog);
// With a queue pair made by CmCreateQp the connection is complete when ESTABLISHED is reported on both sides. Without
// one the parameters' qp_num names the application's own, which it takes through its states with CmInitQpAttr: the
// active side is told CONNECT_RESPONSE, connects its queue pair, and then calls CmEstablish.
int CmConnect(rdma_cm_id* id, rdma_conn_param* parameters);
int CmEstablish(rdma_cm_id* id);
int CmAccept(rdma_cm_id* id, rdma_conn_param* parameters);
int CmReject(rdma_cm_id* id, const void* private_data, uint8_t length);
int CmRejectEce(rdma_cm_id* id, const void* private_data, uint8_t length);
int CmDisconnect(rdma_cm_id* id);
// IBV_EVENT_COMM_EST establishes an accepted connection that was used before its confirmation came.
int CmNotify(rdma_cm_id* id, ibv_event_type event);
// The kernel's word (SO_PEERCRED) on the process at the other end of an accepted or established connection. EOPNOTSUPP:
// it has none, as over TCP. ENOTCONN: there is no connection, or not any more.
int CmGetPeerCredentials(rdma_cm_id* id, ucred* credentials);
int CmInitQpAttr(rdma_cm_id* id, ibv_qp_attr* attributes, int* mask);
int CmSetLocalEce(rdma_cm_id* id, ibv_ece* ece);
int CmGetRemoteEce(rdma_cm_id* id, ibv_ece* ece);

// A synchronous id with its addresses, its route and its queue pair, in one call. A passive endpoint makes a queue pair
// with these attributes for each connection that CmGetRequest takes.
int CmCreateEp(rdma_cm_id** id, rdma_addrinfo* info, ibv_pd* domain, ibv_qp_init_attr* attributes);
void CmDestroyEp(rdma_cm_id* id);
// For synchronous listeners. The id that is handed out is synchronous too, and keeps the request in its `event`.
int CmGetRequest(rdma_cm_id* listener, rdma_cm_id** id);

// Objects of an id. Without a protection domain the id's own is taken, which is the device's default one. A completion
// queue that is not given is made, with a channel, and destroyed with the queue pair.

int CmCreateQp(rdma_cm_id* id, ibv_pd* domain, ibv_qp_init_attr* attributes);
int CmCreateQpEx(rdma_cm_id* id, ibv_qp_init_attr_ex* attributes);
void CmDestroyQp(rdma_cm_id* id);
int CmCreateSrq(rdma_cm_id* id, ibv_pd* domain, ibv_srq_init_attr* attributes);
int CmCreateSrqEx(rdma_cm_id* id, ibv_srq_init_attr_ex* attributes);
void CmDestroySrq(rdma_cm_id* id);
// For whoever destroys a queue pair as a plain verbs object, before that: if it is an id's, the id has none afterwards.
void CmForgetQueuePair(ibv_qp* queue_pair);

// A null-terminated list of the one context; `count` may be null. Free the list with CmFreeDevices.
ibv_context** CmGetDevices(int* count);
void CmFreeDevices(ibv_context** list);

// Always fail.
int CmJoinMulticast(rdma_cm_id* id, sockaddr* address, void* context);
int CmJoinMulticastEx(rdma_cm_id* id, rdma_cm_join_mc_attr_ex* attributes, void* context);
int CmLeaveMulticast(rdma_cm_id* id, sockaddr* address);

// Reported to every id that is bound to the device. A device that fails (device.h) is removed by itself; the device
// goes on working if it is not that.
void CmRaiseDeviceRemoval();
void CmRaiseAddressChange();

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_CM_API_H_
