// libibverbs: protection domains and memory regions.

#include <infiniband/verbs.h>

#include <cerrno>

#include "transport/soft/c_boundary.h"
#include "transport/soft/control_path.h"

// Macros of the header over the exported functions of these names.
#undef ibv_reg_mr
#undef ibv_reg_mr_iova

using namespace verbena::soft;

namespace {

// Wishes that a device may leave unfulfilled, without those that this one knows.
constexpr unsigned kWishes = IBV_ACCESS_OPTIONAL_RANGE & ~static_cast<unsigned>(IBV_ACCESS_RELAXED_ORDERING);

// Memory is known to peers by its own addresses only: a mapping of others is refused.
ibv_mr* RegisterMemoryAt(ibv_pd* domain, void* address, size_t length, uint64_t remote_address, unsigned access) {
  return OrNull([=]() -> ibv_mr* {
    if (remote_address == reinterpret_cast<uint64_t>(address)) {
      return RegisterMemory(domain, address, length, static_cast<int>(access & ~kWishes));
    }
    errno = EOPNOTSUPP;
    return nullptr;
  });
}

}  // namespace

extern "C" {

ibv_pd* ibv_alloc_pd(ibv_context* context) {
  return OrNull([=] { return AllocProtectionDomain(context); });
}

int ibv_dealloc_pd(ibv_pd* domain) {
  return OrErrno([=] { return DeallocProtectionDomain(domain); });
}

ibv_mr* ibv_reg_mr(ibv_pd* domain, void* address, size_t length, int access) {
  return OrNull([=] { return RegisterMemory(domain, address, length, access); });
}

ibv_mr* ibv_reg_mr_iova(ibv_pd* domain, void* address, size_t length, uint64_t remote_address, int access) {
  return RegisterMemoryAt(domain, address, length, remote_address, static_cast<unsigned>(access));
}

// What the macro ibv_reg_mr of the header calls when wishes are among the access flags.
ibv_mr* ibv_reg_mr_iova2(ibv_pd* domain, void* address, size_t length, uint64_t remote_address, unsigned access) {
  return RegisterMemoryAt(domain, address, length, remote_address, access);
}

int ibv_rereg_mr(ibv_mr* region, int flags, ibv_pd* domain, void* address, size_t length, int access) {
  return OrErrno([=] { return ReregisterMemory(region, flags, domain, address, length, access); });
}

int ibv_dereg_mr(ibv_mr* region) {
  return OrErrno([=] { return DeregisterMemory(region); });
}

}  // extern "C"
