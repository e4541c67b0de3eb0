#include "transport/verbs/device_list.h"

#include <cerrno>

#include "transport/verbs/verbs_error.h"

namespace verbena::verbs {
namespace {

// What the libraries say where the kernel has no RDMA support loaded.
bool MeansNoDevice(int error_number) {
  return error_number == ENOSYS || error_number == ENODEV || error_number == ENOENT;
}

}  // namespace

absl::StatusOr<DeviceList> DeviceList::Read(const VerbsApi& api) {
  int count = 0;
  errno = 0;
  ibv_device** list = api.get_device_list(&count);
  if (list != nullptr) return DeviceList(OwnedList(api, list), static_cast<size_t>(count));
  int error = ErrorNumber(-1);
  if (MeansNoDevice(error)) return DeviceList(std::nullopt, 0);
  return CallError("ibv_get_device_list", error, api.name);
}

std::vector<std::string> DeviceList::Names() const {
  std::vector<std::string> names;
  for (ibv_device* device : devices()) names.emplace_back(list_->api().get_device_name(device));
  return names;
}

absl::StatusOr<CmDeviceList> CmDeviceList::Read(const VerbsApi& api) {
  int count = 0;
  errno = 0;
  ibv_context** list = api.cm_get_devices(&count);
  if (list != nullptr) return CmDeviceList(OwnedList(api, list), static_cast<size_t>(count));
  int error = ErrorNumber(-1);
  if (MeansNoDevice(error)) return CmDeviceList(std::nullopt, 0);
  return CallError("rdma_get_devices", error, api.name);
}

}  // namespace verbena::verbs
