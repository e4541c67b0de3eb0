// A memory region: bytes that the device may read or write, with the keys that say so.
//
// Owner: the caller, who also owns the bytes: they must stay mapped until this handle is gone, and no work request on
// them may be in flight then. Its protection domain must outlive it. Thread: any.

#ifndef VERBENA_TRANSPORT_VERBS_MEMORY_REGION_H_
#define VERBENA_TRANSPORT_VERBS_MEMORY_REGION_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "transport/verbs/owned_object.h"
#include "transport/verbs/protection_domain.h"

namespace verbena::verbs {

class MemoryRegion {
 public:
  // Pins and registers `bytes` (at least one byte). `access` is a set of IBV_ACCESS_* flags; 0 lets only the own device
  // read. A failure for want of lockable memory names the limit and the remedy.
  static absl::StatusOr<MemoryRegion> Register(const ProtectionDomain& domain, absl::Span<std::byte> bytes, int access);

  uint32_t lkey() const { return region_->lkey; }
  uint32_t rkey() const { return region_->rkey; }
  int access() const { return access_; }
  absl::Span<std::byte> bytes() const { return {static_cast<std::byte*>(region_->addr), region_->length}; }
  ibv_mr* get() const { return region_.get(); }

 private:
  MemoryRegion(OwnedObject<ibv_mr, &VerbsApi::deregister_memory> region, int access)
      : region_(std::move(region)), access_(access) {}

  OwnedObject<ibv_mr, &VerbsApi::deregister_memory> region_;
  int access_;
};

}  // namespace verbena::verbs

#endif  // VERBENA_TRANSPORT_VERBS_MEMORY_REGION_H_
