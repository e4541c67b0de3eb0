// Device and protection domain calls.

#include <endian.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "transport/soft/control_path.h"
#include "transport/soft/device.h"
#include "transport/soft/forked_child.h"
#include "transport/soft/protection_domain.h"
#include "transport/soft/record.h"
#include "transport/soft/soft_device.h"

namespace verbena::soft {
namespace {

SoftDevice* UsableDevice() {
  if (!IsForkedChild()) return SoftDevice::Get();
  errno = ENODEV;
  return nullptr;
}

}  // namespace

ibv_context* SoftContext() {
  SoftDevice* device = UsableDevice();
  return device == nullptr ? nullptr : device->context();
}

ibv_device** GetDeviceList(int* count) {
  SoftDevice* device = UsableDevice();
  if (device == nullptr) return nullptr;
  auto** list = static_cast<ibv_device**>(std::calloc(2, sizeof(ibv_device*)));
  if (list == nullptr) return nullptr;
  list[0] = device->device();
  if (count != nullptr) *count = 1;
  return list;
}

void FreeDeviceList(ibv_device** list) { std::free(list); }

const char* GetDeviceName(ibv_device* device) { return device->name; }

__be64 GetDeviceGuid(ibv_device* device) { return htobe64(SoftDevice::Existing().guid()); }

ibv_context* OpenDevice(ibv_device* device) { return SoftContext(); }

int CloseDevice(ibv_context* context) { return 0; }

int QueryDevice(ibv_context* context, ibv_device_attr* attributes) {
  *attributes = {};
  std::strncpy(attributes->fw_ver, "1.0", sizeof(attributes->fw_ver) - 1);
  attributes->node_guid = attributes->sys_image_guid = htobe64(SoftDevice::Existing().guid());
  attributes->max_mr_size = UINT64_MAX;
  attributes->page_size_cap = kPageBytes;
  attributes->max_qp = kQueuePairsMax;
  attributes->max_qp_wr = kWorkRequestsMax;
  attributes->device_cap_flags =
      IBV_DEVICE_RC_RNR_NAK_GEN | IBV_DEVICE_SRQ_RESIZE | IBV_DEVICE_MEM_WINDOW_TYPE_2B | IBV_DEVICE_MEM_MGT_EXTENSIONS;
  attributes->max_sge = attributes->max_sge_rd = kSegmentsMax;
  attributes->max_cq = kCompletionQueuesMax;
  attributes->max_cqe = kCompletionEntriesMax;
  attributes->max_mr = attributes->max_mw = kMemoryRegionsMax - 1;
  attributes->max_pd = INT32_MAX;
  attributes->max_qp_rd_atom = attributes->max_qp_init_rd_atom = 128;
  attributes->max_res_rd_atom = 128 * kQueuePairsMax;
  attributes->atomic_cap = IBV_ATOMIC_HCA;
  attributes->max_srq = kQueuePairsMax;
  attributes->max_srq_wr = kWorkRequestsMax;
  attributes->max_srq_sge = kSegmentsMax;
  attributes->max_pkeys = 1;
  attributes->phys_port_cnt = 1;
  return 0;
}

int QueryPort(ibv_context* context, uint8_t port, ibv_port_attr* attributes) {
  if (port != 1) return EINVAL;
  *attributes = {};
  attributes->state = IBV_PORT_ACTIVE;
  attributes->max_mtu = attributes->active_mtu = IBV_MTU_4096;
  attributes->gid_tbl_len = 1;
  attributes->max_msg_sz = kMessageBytesMax;
  attributes->pkey_tbl_len = 1;
  attributes->active_width = 1;
  attributes->active_speed = 1;
  attributes->phys_state = 5;  // Link up.
  attributes->link_layer = IBV_LINK_LAYER_ETHERNET;
  return 0;
}

// ::ffff:127.0.0.1, the address of this host to itself.
int QueryGid(ibv_context* context, uint8_t port, int index, ibv_gid* gid) {
  if (port != 1 || index != 0) {
    errno = EINVAL;
    return -1;
  }
  *gid = {};
  constexpr uint8_t kMappedLoopback[] = {0xff, 0xff, 127, 0, 0, 1};
  std::memcpy(gid->raw + 10, kMappedLoopback, sizeof(kMappedLoopback));
  return 0;
}

int GetAsyncEvent(ibv_context* context, ibv_async_event* event) {
  int error = SoftDevice::Existing().async_events().Get(event);
  if (error == 0) return 0;
  errno = error;
  return -1;
}

void AckAsyncEvent(ibv_async_event* event) { SoftDevice::Existing().async_events().Acknowledge(*event); }

ibv_pd* AllocProtectionDomain(ibv_context* context) {
  return new ProtectionDomain(context, SoftDevice::Existing().NextDomainNumber());
}

int DeallocProtectionDomain(ibv_pd* domain) {
  if (ProtectionDomain::Of(domain).users != 0) return EBUSY;
  delete &ProtectionDomain::Of(domain);
  return 0;
}

}  // namespace verbena::soft
