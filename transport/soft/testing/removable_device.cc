#include "transport/soft/testing/removable_device.h"

#include <cerrno>
#include <utility>

#include "transport/soft/soft_api.h"

namespace verbena::soft {
namespace {

int GetEvent(rdma_event_channel* channel, rdma_cm_event** event) {
  if (!std::exchange(RemovableDevice::removed, false)) return SoftApi().cm_get_event(channel, event);
  *event = new rdma_cm_event();
  (*event)->event = RDMA_CM_EVENT_DEVICE_REMOVAL;
  return 0;
}

int AckEvent(rdma_cm_event* event) {
  if (event->event != RDMA_CM_EVENT_DEVICE_REMOVAL) return SoftApi().cm_ack_event(event);
  delete event;
  return 0;
}

int DestroyId(rdma_cm_id* id) {
  RemovableDevice::destroyed.push_back("id");
  return SoftApi().cm_destroy_id(id);
}

ibv_cq* CreateCompletionQueue(ibv_context* device, int entries, void* context, ibv_comp_channel* channel, int vector) {
  RemovableDevice::completion_vectors.push_back(vector);
  return SoftApi().create_cq(device, entries, context, channel, vector);
}

int CreateQueuePair(rdma_cm_id* id, ibv_pd* domain, ibv_qp_init_attr* attributes) {
  uint32_t& inline_bytes = attributes->cap.max_inline_data;
  if (!RemovableDevice::has_inline && inline_bytes > 0) {
    errno = EINVAL;
    return -1;
  }
  const int result = SoftApi().cm_create_qp(id, domain, attributes);
  if (!RemovableDevice::has_inline) inline_bytes = 0;
  return result;
}

ibv_mr* RegisterMemory(ibv_pd* domain, void* address, size_t length, int access) {
  if (!RemovableDevice::refuses_memory) return SoftApi().register_memory(domain, address, length, access);
  errno = ENOMEM;
  return nullptr;
}

int DeregisterMemory(ibv_mr* region) {
  if (RemovableDevice::on_deregister != nullptr) RemovableDevice::on_deregister();
  RemovableDevice::destroyed.push_back("registration");
  return SoftApi().deregister_memory(region);
}

int DeallocateDomain(ibv_pd* domain) {
  RemovableDevice::destroyed.push_back("domain");
  return SoftApi().dealloc_pd(domain);
}

ibv_context** GetDevices(int* count) {
  RemovableDevice::listed.release();
  return SoftApi().cm_get_devices(count);
}

verbs::VerbsApi MakeTable() {
  verbs::VerbsApi api = SoftApi();
  api.cm_get_event = GetEvent;
  api.cm_get_devices = GetDevices;
  api.cm_ack_event = AckEvent;
  api.cm_destroy_id = DestroyId;
  api.create_cq = CreateCompletionQueue;
  api.cm_create_qp = CreateQueuePair;
  api.register_memory = RegisterMemory;
  api.deregister_memory = DeregisterMemory;
  api.dealloc_pd = DeallocateDomain;
  return api;
}

}  // namespace

const verbs::VerbsApi& RemovableDevice::Api() {
  static const verbs::VerbsApi api = MakeTable();
  return api;
}

}  // namespace verbena::soft
