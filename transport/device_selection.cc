#include "transport/device_selection.h"

#include <cstdlib>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "transport/soft/soft_api.h"

namespace verbena::transport {
namespace {

std::vector<std::string> RdmaDeviceNames() {
  const verbs::VerbsApi& api = verbs::RdmaCoreApi();
  int count = 0;
  ibv_device** const list = api.get_device_list(&count);
  std::vector<std::string> names;
  for (int i = 0; list != nullptr && i < count; ++i) names.push_back(api.get_device_name(list[i]));
  if (list != nullptr) api.free_device_list(list);
  return names;
}

std::string WantedDevice(absl::string_view option) {
  if (!option.empty()) return std::string(option);
  const char* const environment = std::getenv("VERBENA_DEVICE");
  return environment == nullptr || *environment == '\0' ? "auto" : environment;
}

}  // namespace

absl::StatusOr<std::vector<DeviceCandidate>> SelectDevices(const Address& address, absl::string_view device) {
  const std::string wanted = WantedDevice(device);
  const DeviceCandidate soft{&soft::SoftApi(), Scheme::kSoft, ""};
  const DeviceCandidate rdma{&verbs::RdmaCoreApi(), Scheme::kRdma, wanted == "auto" ? "" : wanted};
  if (wanted == "soft" || (wanted == "auto" && address.scheme == Scheme::kSoft)) {
    if (address.scheme != Scheme::kRdma) return std::vector<DeviceCandidate>{soft};
    return absl::InvalidArgumentError("the address says rdma://, the device option says soft");
  }
  if (address.scheme == Scheme::kSoft) {
    return absl::InvalidArgumentError(absl::StrCat("the address says soft://, the device option says ", wanted));
  }
  const std::vector<std::string> names = RdmaDeviceNames();
  if (wanted != "auto") {
    if (absl::c_linear_search(names, wanted)) return std::vector<DeviceCandidate>{rdma};
    return absl::NotFoundError(absl::StrCat(
        "there is no RDMA device ", wanted, "; there ",
        names.empty() ? "is none at all" : absl::StrCat("are: ", absl::StrJoin(names, ", ")), ", and soft"));
  }
  if (address.scheme == Scheme::kRdma) {
    if (!names.empty()) return std::vector<DeviceCandidate>{rdma};
    return absl::FailedPreconditionError("the address says rdma://, and this machine has no RDMA device");
  }
  if (names.empty()) return std::vector<DeviceCandidate>{soft};
  return std::vector<DeviceCandidate>{rdma, soft};
}

}  // namespace verbena::transport
