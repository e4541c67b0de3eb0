// The engine's entries of the table of verbs calls: what ../verbs/verbs_api.h names, without the connection manager.
// Conventions and errors are those of the verbs man pages.
//
// Thread: any.

#ifndef VERBENA_TRANSPORT_SOFT_CONTROL_PATH_H_
#define VERBENA_TRANSPORT_SOFT_CONTROL_PATH_H_

#include <infiniband/verbs.h>

namespace verbena::soft {

ibv_device** GetDeviceList(int* count);
void FreeDeviceList(ibv_device** list);
const char* GetDeviceName(ibv_device* device);
__be64 GetDeviceGuid(ibv_device* device);
ibv_context* OpenDevice(ibv_device* device);
int CloseDevice(ibv_context* context);
int QueryDevice(ibv_context* context, ibv_device_attr* attributes);
int QueryPort(ibv_context* context, uint8_t port, ibv_port_attr* attributes);
int QueryGid(ibv_context* context, uint8_t port, int index, ibv_gid* gid);
int GetAsyncEvent(ibv_context* context, ibv_async_event* event);
void AckAsyncEvent(ibv_async_event* event);

ibv_pd* AllocProtectionDomain(ibv_context* context);
int DeallocProtectionDomain(ibv_pd* domain);
ibv_mr* RegisterMemory(ibv_pd* domain, void* address, size_t length, int access);
// All three changes; the keys change too. EBUSY while windows are bound, and then the region is as before.
int ReregisterMemory(ibv_mr* region, int flags, ibv_pd* domain, void* address, size_t length, int access);
// EBUSY while windows are bound.
int DeregisterMemory(ibv_mr* region);
// Of the process' SharedHeap; the device need not be in use.
void* MapMemory(size_t bytes);
int UnmapMemory(void* address, size_t bytes);
// Type 2 only (and it is 2B: see key_table.h); type 1 is EOPNOTSUPP.
ibv_mw* AllocMemoryWindow(ibv_pd* domain, ibv_mw_type type);
// Bound or not.
int DeallocMemoryWindow(ibv_mw* window);
// ibv_bind_mw, which is for windows of type 1.
int BindMemoryWindow(ibv_qp* queue_pair, ibv_mw* window, ibv_mw_bind* binding);

ibv_comp_channel* CreateCompletionChannel(ibv_context* context);
int DestroyCompletionChannel(ibv_comp_channel* channel);
ibv_cq* CreateCompletionQueue(ibv_context* context, int entries, void* user_context, ibv_comp_channel* channel,
                              int vector);
int ResizeCompletionQueue(ibv_cq* queue, int entries);
int DestroyCompletionQueue(ibv_cq* queue);
int GetCompletionEvent(ibv_comp_channel* channel, ibv_cq** queue, void** user_context);
void AckCompletionEvents(ibv_cq* queue, unsigned int count);
ibv_srq* CreateSharedReceiveQueue(ibv_pd* domain, ibv_srq_init_attr* attributes);
int ModifySharedReceiveQueue(ibv_srq* queue, ibv_srq_attr* attributes, int mask);
int QuerySharedReceiveQueue(ibv_srq* queue, ibv_srq_attr* attributes);
int DestroySharedReceiveQueue(ibv_srq* queue);

// ibv_create_qp. device.h has the connection manager's way of making queue pairs, and destroys and modifies both kinds.
ibv_qp* CreateUnconnectedQueuePair(ibv_pd* domain, ibv_qp_init_attr* attributes);
int QueryQueuePair(ibv_qp* queue_pair, ibv_qp_attr* attributes, int mask, ibv_qp_init_attr* init_attributes);

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_CONTROL_PATH_H_
