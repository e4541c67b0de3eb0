#include "transport/verbs/protection_domain.h"

#include "transport/verbs/verbs_error.h"

namespace verbena::verbs {

absl::StatusOr<ProtectionDomain> ProtectionDomain::Create(const Device& device) {
  ibv_pd* domain = device.api().alloc_pd(device.context());
  if (domain == nullptr) return CallError("ibv_alloc_pd", ErrorNumber(-1), device.name());
  return ProtectionDomain({device.api(), domain});
}

}  // namespace verbena::verbs
