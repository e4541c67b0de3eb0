#include "transport/verbs/memory_region.h"

#include "absl/strings/str_cat.h"
#include "transport/verbs/verbs_error.h"

namespace verbena::verbs {

absl::StatusOr<MemoryRegion> MemoryRegion::Register(const ProtectionDomain& domain, absl::Span<std::byte> bytes,
                                                    int access) {
  ibv_mr* region = domain.api().register_memory(domain.get(), bytes.data(), bytes.size(), access);
  if (region == nullptr) {
    int error = ErrorNumber(-1);
    return PinningError("ibv_reg_mr", error, absl::StrCat(bytes.size(), " bytes"));
  }
  return MemoryRegion({domain.api(), region}, access);
}

}  // namespace verbena::verbs
