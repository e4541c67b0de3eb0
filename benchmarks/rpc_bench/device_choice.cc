#include "benchmarks/rpc_bench/device_choice.h"

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "transport/soft/soft_api.h"
#include "transport/verbs/device_list.h"

namespace verbena::benchmarks {

absl::StatusOr<DeviceChoice> ChooseDevice(const std::string& wish) {
  const char* environment = std::getenv("VERBENA_DEVICE");
  std::string name = wish;
  if (name.empty()) name = environment != nullptr && *environment != '\0' ? environment : "auto";
  if (name == "soft") return DeviceChoice{&soft::SoftApi(), name};

  const absl::StatusOr<verbs::DeviceList> devices = verbs::DeviceList::Read(verbs::RdmaCoreApi());
  if (!devices.ok()) return devices.status();
  const std::vector<std::string> names = devices->Names();
  if (name == "auto") {
    if (names.empty()) return DeviceChoice{&soft::SoftApi(), "soft"};
    return DeviceChoice{&verbs::RdmaCoreApi(), names.front()};
  }
  if (std::find(names.begin(), names.end(), name) != names.end()) return DeviceChoice{&verbs::RdmaCoreApi(), name};
  return absl::NotFoundError(absl::StrCat("no RDMA device \"", name, "\"; there are: soft", names.empty() ? "" : ", ",
                                          absl::StrJoin(names, ", ")));
}

}  // namespace verbena::benchmarks
