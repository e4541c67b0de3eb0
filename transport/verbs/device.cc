#include "transport/verbs/device.h"

#include <endian.h>

#include <algorithm>
#include <fstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "transport/verbs/device_list.h"
#include "transport/verbs/non_blocking.h"
#include "transport/verbs/verbs_error.h"

namespace verbena::verbs {
namespace {

int ReadNumaNode(const ibv_device& device) {
  if (device.ibdev_path[0] == '\0') return -1;
  std::ifstream file(absl::StrCat(device.ibdev_path, "/device/numa_node"));
  int node = -1;
  return file >> node ? node : -1;
}

absl::string_view StateName(ibv_port_state state) {
  switch (state) {
    case IBV_PORT_NOP:
      return "no state";
    case IBV_PORT_DOWN:
      return "down";
    case IBV_PORT_INIT:
      return "initializing";
    case IBV_PORT_ARMED:
      return "armed";
    case IBV_PORT_ACTIVE:
      return "active";
    case IBV_PORT_ACTIVE_DEFER:
      return "active, deferred";
  }
  return "unknown state";
}

absl::string_view LinkLayerName(uint8_t link_layer) {
  return link_layer == IBV_LINK_LAYER_ETHERNET ? "Ethernet" : "InfiniBand";
}

// Of ibv_port_attr::active_width, whose numbers verbs.h does not name (ibv_query_port(3)).
int Lanes(uint8_t width) {
  switch (width) {
    case 1:
      return 1;
    case 2:
      return 4;
    case 4:
      return 8;
    case 8:
      return 12;
    case 16:
      return 2;
    default:
      return 0;
  }
}

// Of a lane, by ibv_port_attr::active_speed (there too).
int64_t MegabitsPerSecond(uint8_t speed) {
  switch (speed) {
    case 1:
      return 2500;
    case 2:
      return 5000;
    case 4:
    case 8:
      return 10000;
    case 16:
      return 14000;
    case 32:
      return 25000;
    case 64:
      return 50000;
    case 128:
      return 100000;
    default:
      return 0;
  }
}

uint64_t BitsPerSecond(const ibv_port_attr& port) {
  return static_cast<uint64_t>(Lanes(port.active_width) * MegabitsPerSecond(port.active_speed)) * 1000000;
}

int MtuBytes(ibv_mtu mtu) { return 128 << mtu; }  // IBV_MTU_256 is 1.

}  // namespace

Device::Device(const VerbsApi& api, ibv_context* context, std::optional<OwnedContext> owned)
    : api_(&api), context_(context), owned_(std::move(owned)) {}

absl::StatusOr<Device> Device::Open(const VerbsApi& api, absl::string_view name) {
  absl::StatusOr<DeviceList> list = DeviceList::Read(api);
  if (!list.ok()) return list.status();
  for (ibv_device* device : list->devices()) {
    if (name == api.get_device_name(device)) return Open(api, device);
  }
  std::string present = list->devices().empty() ? "there is none" : absl::StrJoin(list->Names(), ", ");
  return absl::NotFoundError(absl::StrCat("no RDMA device \"", name, "\" (devices of ", api.name, ": ", present, ")"));
}

absl::StatusOr<Device> Device::Open(const VerbsApi& api, ibv_device* device) {
  ibv_context* context = api.open_device(device);
  if (context == nullptr) return CallError("ibv_open_device", ErrorNumber(-1), api.get_device_name(device));
  return Inspect(api, context, OwnedContext(api, context));
}

absl::StatusOr<Device> Device::Borrow(const VerbsApi& api, ibv_context* context) {
  return Inspect(api, context, std::nullopt);
}

absl::StatusOr<Device> Device::Inspect(const VerbsApi& api, ibv_context* context, std::optional<OwnedContext> owned) {
  Device device(api, context, std::move(owned));
  device.name_ = api.get_device_name(context->device);
  device.guid_ = be64toh(api.get_device_guid(context->device));
  device.numa_node_ = ReadNumaNode(*context->device);
  if (int result = api.query_device(context, &device.attributes_); result != 0) {
    return CallError("ibv_query_device", ErrorNumber(result), device.name_);
  }
  for (int port = 1; port <= device.attributes_.phys_port_cnt; ++port) {
    const absl::StatusOr<ibv_port_attr> attributes = device.QueryPort(static_cast<uint8_t>(port));
    if (!attributes.ok()) return attributes.status();
    const uint32_t longest = attributes->max_msg_sz;
    if (longest > 0) device.message_bytes_max_ = std::min(device.message_bytes_max_, longest);
    const uint64_t rate = attributes->state == IBV_PORT_ACTIVE ? BitsPerSecond(*attributes) : 0;
    if (rate > 0 && (device.bits_per_second_ == 0 || rate < device.bits_per_second_)) device.bits_per_second_ = rate;
  }
  return device;
}

absl::Status Device::MakeAsyncEventsNonBlocking() { return MakeNonBlocking(context_->async_fd, name_); }

absl::StatusOr<std::optional<AsyncEvent>> Device::NextAsyncEvent() { return verbs::NextAsyncEvent(*api_, context_); }

absl::StatusOr<ibv_port_attr> Device::QueryPort(uint8_t port) const {
  ibv_port_attr attributes = {};
  if (int result = api_->query_port(context_, port, &attributes); result != 0) {
    int error = ErrorNumber(result);
    return CallError("ibv_query_port", error, absl::StrCat(name_, " port ", port));
  }
  return attributes;
}

absl::StatusOr<ibv_gid> Device::QueryGid(uint8_t port, int index) const {
  ibv_gid gid = {};
  if (int result = api_->query_gid(context_, port, index, &gid); result != 0) {
    int error = ErrorNumber(result);
    return CallError("ibv_query_gid", error, absl::StrCat(name_, " port ", port, " index ", index));
  }
  return gid;
}

std::string Device::Describe() const {
  std::string text = absl::StrFormat("%s (%s", name_, api_->name);
  if (attributes_.fw_ver[0] != '\0') absl::StrAppend(&text, ", firmware ", attributes_.fw_ver);
  absl::StrAppendFormat(&text, ", GUID %04x:%04x:%04x:%04x", guid_ >> 48, guid_ >> 32 & 0xffff, guid_ >> 16 & 0xffff,
                        guid_ & 0xffff);
  if (numa_node_ >= 0) absl::StrAppend(&text, ", NUMA node ", numa_node_);
  absl::StrAppend(&text, "):");
  for (int port = 1; port <= attributes_.phys_port_cnt; ++port) {
    absl::StatusOr<ibv_port_attr> attributes = QueryPort(static_cast<uint8_t>(port));
    absl::StrAppend(&text, " port ", port, " ");
    if (attributes.ok()) {
      absl::StrAppend(&text, StateName(attributes->state), " on ", LinkLayerName(attributes->link_layer));
      const double gigabits = static_cast<double>(BitsPerSecond(*attributes)) / 1e9;
      if (gigabits > 0) absl::StrAppend(&text, ", ", gigabits, " Gbit/s");
      absl::StrAppend(&text, ", MTU ", MtuBytes(attributes->active_mtu), ";");
    } else {
      absl::StrAppend(&text, "unreadable;");
    }
  }
  absl::StrAppend(&text, " ", attributes_.max_qp, " queue pairs of ", attributes_.max_qp_wr, " work requests, ");
  if (attributes_.max_srq > 0) {
    absl::StrAppend(&text, attributes_.max_srq, " shared receive queues of ", attributes_.max_srq_wr, ", ");
  } else {
    absl::StrAppend(&text, "no shared receive queue, ");
  }
  absl::StrAppend(&text, attributes_.max_sge, " segments, READ depth ", attributes_.max_qp_init_rd_atom);
  return text;
}

}  // namespace verbena::verbs
