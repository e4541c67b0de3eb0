// A registration of payload memory, counted for as long as it lasts (TransportCounters::pinned_bytes, registrations).
//
// Owner: a payload block, or an export. Thread: any, one at a time.

#ifndef VERBENA_TRANSPORT_PINNED_REGION_H_
#define VERBENA_TRANSPORT_PINNED_REGION_H_

#include <cstddef>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "transport/counters.h"
#include "transport/verbs/memory_region.h"
#include "transport/verbs/protection_domain.h"

namespace verbena::transport {

class PinnedRegion {
 public:
  // As verbs::MemoryRegion::Register.
  static absl::StatusOr<PinnedRegion> Register(const verbs::ProtectionDomain& domain, absl::Span<std::byte> bytes,
                                               int access) {
    absl::StatusOr<verbs::MemoryRegion> region = verbs::MemoryRegion::Register(domain, bytes, access);
    if (!region.ok()) return region.status();
    CountRegistration();
    AddPinnedBytes(static_cast<int64_t>(bytes.size()));
    return PinnedRegion(*std::move(region), bytes.size());
  }
  PinnedRegion(PinnedRegion&& other) noexcept
      : region_(std::move(other.region_)), bytes_(std::exchange(other.bytes_, 0)) {}
  PinnedRegion& operator=(PinnedRegion&&) = delete;
  ~PinnedRegion() { AddPinnedBytes(-static_cast<int64_t>(bytes_)); }

  const verbs::MemoryRegion& region() const { return region_; }

 private:
  PinnedRegion(verbs::MemoryRegion region, size_t bytes) : region_(std::move(region)), bytes_(bytes) {}

  verbs::MemoryRegion region_;
  size_t bytes_;
};

}  // namespace verbena::transport

#endif  // VERBENA_TRANSPORT_PINNED_REGION_H_
