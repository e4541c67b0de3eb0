#include "transport/device_regions.h"

#include <memory>
#include <utility>

#include "transport/device_context.h"

namespace verbena::transport {

absl::StatusOr<const verbs::MemoryRegion*> DeviceRegions::In(const DeviceContext& device) {
  if (const Place* const known = Find(&device.domain())) return &known->region->region();
  const std::lock_guard lock(mu_);
  if (const Place* const known = Find(&device.domain())) return &known->region->region();  // Another was faster.
  const int access = use_ == Use::kSend ? device.lent_access() : device.block_access();
  absl::StatusOr<PinnedRegion> region = PinnedRegion::Register(device.domain(), bytes_, access);
  if (!region.ok()) return region.status();
  Place* place = Find(nullptr);
  if (place == nullptr) {
    auto made = std::make_unique<Place>();
    made->next = std::move(places_);
    places_ = std::move(made);
    place = places_.get();
  }
  place->region.emplace(*std::move(region));
  place->domain.store(&device.domain(), std::memory_order_release);
  first_.store(places_.get(), std::memory_order_release);
  return &place->region->region();
}

DeviceRegions::Place* DeviceRegions::Find(const verbs::ProtectionDomain* domain) const {
  Place* place = first_.load(std::memory_order_acquire);
  while (place != nullptr && place->domain.load(std::memory_order_acquire) != domain) place = place->next.get();
  return place;
}

void DeviceRegions::Deregister(const verbs::ProtectionDomain& domain) {
  const std::lock_guard lock(mu_);
  Place* const place = Find(&domain);
  if (place == nullptr) return;
  place->domain.store(nullptr, std::memory_order_relaxed);
  place->region.reset();
}

void DeviceRegions::Clear() {
  const std::lock_guard lock(mu_);
  first_.store(nullptr, std::memory_order_relaxed);
  places_ = nullptr;
}

}  // namespace verbena::transport
