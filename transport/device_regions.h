// Bytes and their registrations: one for each device that they are sent or landed on, made on first use and kept.
//
// Owner: a payload block, or memory that a user registered. Thread: any.

#ifndef VERBENA_TRANSPORT_DEVICE_REGIONS_H_
#define VERBENA_TRANSPORT_DEVICE_REGIONS_H_

#include <cstddef>
#include <mutex>

#include "absl/base/thread_annotations.h"
#include "absl/container/node_hash_map.h"
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
  const absl::Span<std::byte> bytes_;
  const Use use_;
  std::mutex mu_;
  absl::node_hash_map<const verbs::ProtectionDomain*, PinnedRegion> regions_ ABSL_GUARDED_BY(mu_);
};

}  // namespace verbena::transport

#endif  // VERBENA_TRANSPORT_DEVICE_REGIONS_H_
