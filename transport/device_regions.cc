#include "transport/device_regions.h"

#include <utility>

#include "transport/device_context.h"

namespace verbena::transport {

absl::StatusOr<const verbs::MemoryRegion*> DeviceRegions::In(const DeviceContext& device) {
  const std::lock_guard lock(mu_);
  const auto known = regions_.find(&device.domain());
  if (known != regions_.end()) return &known->second.region();
  const int access = use_ == Use::kSend ? device.lent_access() : device.block_access();
  absl::StatusOr<PinnedRegion> region = PinnedRegion::Register(device.domain(), bytes_, access);
  if (!region.ok()) return region.status();
  return &regions_.emplace(&device.domain(), *std::move(region)).first->second.region();
}

void DeviceRegions::Deregister(const verbs::ProtectionDomain& domain) {
  const std::lock_guard lock(mu_);
  regions_.erase(&domain);
}

void DeviceRegions::Clear() {
  const std::lock_guard lock(mu_);
  regions_.clear();
}

}  // namespace verbena::transport
