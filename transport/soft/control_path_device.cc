// Device and protection domain calls.

#include <endian.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "transport/soft/control_io/forked_child.h"
#include "transport/soft/control_path.h"
#include "transport/soft/device.h"
#include "transport/soft/gid_table.h"
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

// Of ibv_port_attr; the InfiniBand specification's numbers, which verbs.h does not name.
constexpr uint8_t kFourLanes = 2;
constexpr uint8_t kEnhancedDataRate = 32;  // 25 Gbit/s a lane.
constexpr uint8_t kPhysicalDisabled = 3;
constexpr uint8_t kPhysicalLinkUp = 5;

unsigned CapabilityFlags(const Profile& profile) {
  unsigned flags = IBV_DEVICE_MEM_MGT_EXTENSIONS | IBV_DEVICE_PORT_ACTIVE_EVENT | IBV_DEVICE_SYS_IMAGE_GUID;
  if (!profile.iwarp) flags |= IBV_DEVICE_RC_RNR_NAK_GEN;
  if (profile.shared_queues_max != 0) flags |= IBV_DEVICE_SRQ_RESIZE;
  if (profile.memory_windows) flags |= IBV_DEVICE_MEM_WINDOW_TYPE_2B;
  return flags;
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
  const SoftDevice& device = SoftDevice::Existing();
  const Profile& profile = device.profile();
  if (int error = device.health().Refusal(); error != 0) return error;
  *attributes = {};
  std::strncpy(attributes->fw_ver, "1.0", sizeof(attributes->fw_ver) - 1);
  attributes->node_guid = attributes->sys_image_guid = htobe64(device.guid());
  attributes->max_mr_size = UINT64_MAX;
  attributes->page_size_cap = kPageBytes;
  attributes->max_qp = kQueuePairsMax;
  attributes->max_qp_wr = static_cast<int>(profile.work_requests_max);
  attributes->device_cap_flags = CapabilityFlags(profile);
  attributes->max_sge = static_cast<int>(profile.segments_max);
  attributes->max_sge_rd = static_cast<int>(profile.read_segments_max);
  attributes->max_cq = kCompletionQueuesMax;
  attributes->max_cqe = static_cast<int>(profile.completion_entries_max);
  attributes->max_mr = kMemoryRegionsMax - 1;
  attributes->max_mw = profile.memory_windows ? kMemoryRegionsMax - 1 : 0;
  attributes->max_pd = INT32_MAX;
  attributes->max_qp_rd_atom = static_cast<int>(profile.reads_served_max);
  attributes->max_qp_init_rd_atom = static_cast<int>(profile.reads_max);
  attributes->max_res_rd_atom = static_cast<int>(profile.reads_served_max * kQueuePairsMax);
  attributes->atomic_cap = profile.atomics;
  attributes->max_srq = static_cast<int>(profile.shared_queues_max);
  attributes->max_srq_wr = static_cast<int>(profile.shared_requests_max);
  attributes->max_srq_sge = static_cast<int>(profile.shared_segments_max);
  attributes->max_pkeys = 1;
  attributes->phys_port_cnt = 1;
  return 0;
}

int QueryPort(ibv_context* context, uint8_t port, ibv_port_attr* attributes) {
  const SoftDevice& device = SoftDevice::Existing();
  if (int error = device.health().Refusal(); error != 0) return error;
  if (port != 1) return EINVAL;
  *attributes = {};
  bool up = device.health().port_is_up();
  attributes->state = up ? IBV_PORT_ACTIVE : IBV_PORT_DOWN;
  attributes->max_mtu = attributes->active_mtu = IBV_MTU_4096;
  attributes->gid_tbl_len = LocalGidCount();
  attributes->max_msg_sz = device.profile().message_bytes_max;
  attributes->pkey_tbl_len = 1;
  // What copying memory reaches on a machine of today is near to 100 Gbit/s.
  attributes->active_width = kFourLanes;
  attributes->active_speed = kEnhancedDataRate;
  attributes->phys_state = up ? kPhysicalLinkUp : kPhysicalDisabled;
  attributes->link_layer = IBV_LINK_LAYER_ETHERNET;
  return 0;
}

int QueryGid(ibv_context* context, uint8_t port, int index, ibv_gid* gid) {
  const ibv_gid* found = port == 1 ? LocalGid(index) : nullptr;
  if (found == nullptr) {
    errno = EINVAL;
    return -1;
  }
  *gid = *found;
  return 0;
}

int GetAsyncEvent(ibv_context* context, ibv_async_event* event) {
  int error = IsForkedChild() ? ENODEV : SoftDevice::Existing().async_events().Get(event);
  if (error == 0) return 0;
  errno = error;
  return -1;
}

void AckAsyncEvent(ibv_async_event* event) { SoftDevice::Existing().async_events().Acknowledge(*event); }

ibv_pd* AllocProtectionDomain(ibv_context* context) {
  if (int error = SoftDevice::Existing().health().Refusal(); error != 0) {
    errno = error;
    return nullptr;
  }
  return new ProtectionDomain(context, SoftDevice::Existing().NextDomainNumber());
}

int DeallocProtectionDomain(ibv_pd* domain) {
  if (IsForkedChild()) return 0;
  if (ProtectionDomain::Of(domain).users != 0) return EBUSY;
  delete &ProtectionDomain::Of(domain);
  return 0;
}

}  // namespace verbena::soft
