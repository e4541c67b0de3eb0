#include "transport/soft/soft_api.h"

#include "transport/soft/cm_api.h"
#include "transport/soft/control_path.h"
#include "transport/soft/device.h"

namespace verbena::soft {

const verbs::VerbsApi& SoftApi() {
  static constexpr verbs::VerbsApi kApi = {
      .name = "soft",
      .get_device_list = GetDeviceList,
      .free_device_list = FreeDeviceList,
      .get_device_name = GetDeviceName,
      .get_device_guid = GetDeviceGuid,
      .open_device = OpenDevice,
      .close_device = CloseDevice,
      .query_device = QueryDevice,
      .query_port = QueryPort,
      .query_gid = QueryGid,
      .get_async_event = GetAsyncEvent,
      .ack_async_event = AckAsyncEvent,
      .alloc_pd = AllocProtectionDomain,
      .dealloc_pd = DeallocProtectionDomain,
      .register_memory = RegisterMemory,
      .deregister_memory = DeregisterMemory,
      .map_memory = MapMemory,
      .unmap_memory = UnmapMemory,
      .create_comp_channel = CreateCompletionChannel,
      .destroy_comp_channel = DestroyCompletionChannel,
      .create_cq = CreateCompletionQueue,
      .destroy_cq = DestroyCompletionQueue,
      .get_cq_event = GetCompletionEvent,
      .ack_cq_events = AckCompletionEvents,
      .create_srq = CreateSharedReceiveQueue,
      .modify_srq = ModifySharedReceiveQueue,
      .query_srq = QuerySharedReceiveQueue,
      .destroy_srq = DestroySharedReceiveQueue,
      .modify_qp = ModifyQueuePair,
      .query_qp = QueryQueuePair,
      .cm_create_event_channel = CmCreateEventChannel,
      .cm_destroy_event_channel = CmDestroyEventChannel,
      .cm_create_id = CmCreateId,
      .cm_destroy_id = CmDestroyId,
      .cm_bind_addr = CmBindAddr,
      .cm_resolve_addr = CmResolveAddr,
      .cm_resolve_route = CmResolveRoute,
      .cm_listen = CmListen,
      .cm_connect = CmConnect,
      .cm_accept = CmAccept,
      .cm_reject = CmReject,
      .cm_disconnect = CmDisconnect,
      .cm_create_qp = CmCreateQp,
      .cm_destroy_qp = CmDestroyQp,
      .cm_migrate_id = CmMigrateId,
      .cm_set_option = CmSetOption,
      .cm_get_event = CmGetEvent,
      .cm_ack_event = CmAckEvent,
      .cm_get_src_port = CmGetSrcPort,
      .cm_get_peer_credentials = CmGetPeerCredentials,
      .cm_get_devices = CmGetDevices,
      .cm_free_devices = CmFreeDevices,
  };
  return kApi;
}

}  // namespace verbena::soft
