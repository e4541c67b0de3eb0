// Which devices there are.
//
// DeviceList is what the verbs library sees: devices that can be opened. CmDeviceList is what the connection manager
// has opened: the contexts that rdma_cm_id::verbs points at. Floor 3 works on the latter, for a queue pair made through
// an id must use objects of the id's own context.
//
// Owner: the caller. The contexts of a CmDeviceList are the connection manager's; they are valid while the list lives.
// Thread: any.

#ifndef VERBENA_TRANSPORT_VERBS_DEVICE_LIST_H_
#define VERBENA_TRANSPORT_VERBS_DEVICE_LIST_H_

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "transport/verbs/owned_object.h"
#include "transport/verbs/verbs_api.h"

namespace verbena::verbs {

class DeviceList {
 public:
  // An empty list is a success: a machine without a device, or without the kernel's RDMA support.
  static absl::StatusOr<DeviceList> Read(const VerbsApi& api);

  absl::Span<ibv_device* const> devices() const {
    return count_ == 0 ? absl::Span<ibv_device* const>() : absl::MakeConstSpan(list_->get(), count_);
  }
  std::vector<std::string> Names() const;

 private:
  using OwnedList = OwnedObject<ibv_device*, &VerbsApi::free_device_list>;

  DeviceList(std::optional<OwnedList> list, size_t count) : list_(std::move(list)), count_(count) {}

  std::optional<OwnedList> list_;  // Empty: there is no kernel support, hence no list.
  size_t count_;
};

class CmDeviceList {
 public:
  // An empty list is a success, as above; a missing kernel module counts as no device.
  static absl::StatusOr<CmDeviceList> Read(const VerbsApi& api);

  absl::Span<ibv_context* const> contexts() const {
    return count_ == 0 ? absl::Span<ibv_context* const>() : absl::MakeConstSpan(list_->get(), count_);
  }

 private:
  using OwnedList = OwnedObject<ibv_context*, &VerbsApi::cm_free_devices>;

  CmDeviceList(std::optional<OwnedList> list, size_t count) : list_(std::move(list)), count_(count) {}

  std::optional<OwnedList> list_;  // Empty: there is no kernel support, hence no list.
  size_t count_;
};

}  // namespace verbena::verbs

#endif  // VERBENA_TRANSPORT_VERBS_DEVICE_LIST_H_
