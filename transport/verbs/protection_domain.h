// A protection domain: the fence around memory regions, queue pairs and shared receive queues that may use each other.
//
// Owner: the caller. Its device must outlive it; it must outlive everything made in it. Thread: any.

#ifndef VERBENA_TRANSPORT_VERBS_PROTECTION_DOMAIN_H_
#define VERBENA_TRANSPORT_VERBS_PROTECTION_DOMAIN_H_

#include "absl/status/statusor.h"
#include "transport/verbs/device.h"
#include "transport/verbs/owned_object.h"

namespace verbena::verbs {

class ProtectionDomain {
 public:
  static absl::StatusOr<ProtectionDomain> Create(const Device& device);

  ibv_pd* get() const { return domain_.get(); }
  const VerbsApi& api() const { return domain_.api(); }

 private:
  explicit ProtectionDomain(OwnedObject<ibv_pd, &VerbsApi::dealloc_pd> domain) : domain_(std::move(domain)) {}

  OwnedObject<ibv_pd, &VerbsApi::dealloc_pd> domain_;
};

}  // namespace verbena::verbs

#endif  // VERBENA_TRANSPORT_VERBS_PROTECTION_DOMAIN_H_
