// Bytes and their registrations: one for each device that they are sent or landed on, made on first use and kept. Who
// finds his registration, as all but the first do, takes no lock: it stands in a list whose places stay.
//
// Owner: a payload block, or memory that a user registered. Thread: any.

#ifndef VERBENA_TRANSPORT_DEVICE_REGIONS_H_
#define VERBENA_TRANSPORT_DEVICE_REGIONS_H_

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "transport/pinned_region.h"
#include "transport/verbs/protection_domain.h"

namespace verbena::transport {

class DeviceContext;

class DeviceRegions {
 public:
  // What the registrations allow, to this process alone in either case.
  enum class Use {
    kSendAndLand,  // DeviceContext::block_access.
    kSend,         // DeviceContext::lent_access.
  };

  DeviceRegions(absl::Span<std::byte> bytes, Use use) : bytes_(bytes), use_(use) {}

  absl::Span<std::byte> bytes() const { return bytes_; }

  // All the bytes, registered with this device: until Deregister, or Clear, or this goes.
  absl::StatusOr<const verbs::MemoryRegion*> In(const DeviceContext& device);

  // Ends the registration in this domain, if there is one. Nobody uses or asks for it meanwhile.
  void Deregister(const verbs::ProtectionDomain& domain);
  // Ends all. Nobody uses or asks for one meanwhile.
  void Clear();

 private:
  // Of a registration; taken by another when that has ended.
  struct Place {
    std::atomic<const verbs::ProtectionDomain*> domain = nullptr;  // Null: no registration is here.
    std::optional<PinnedRegion> region;                            // Set before `domain`, ended behind it.
    std::unique_ptr<Place> next;
  };

  // Null: none is registered with this domain; a place for one that has none.
  Place* Find(const verbs::ProtectionDomain* domain) const;

  const absl::Span<std::byte> bytes_;
  const Use use_;
  std::mutex mu_;
  std::unique_ptr<Place> places_ ABSL_GUARDED_BY(mu_);  // Few: a program has few devices.
  std::atomic<Place*> first_ = nullptr;                 // The same, for who only looks.
};

}  // namespace verbena::transport

#endif  // VERBENA_TRANSPORT_DEVICE_REGIONS_H_
