// libibverbs: protection domains and memory regions.

#include <infiniband/verbs.h>

#include "transport/soft/control_path.h"
#include "transport/soft/dropin/c_boundary.h"

// Macros of the header over the exported functions of these names.
#undef ibv_reg_mr
#undef ibv_reg_mr_iova

using namespace verbena::soft;

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

int ibv_rereg_mr(ibv_mr* region, int flags, ibv_pd* domain, void* address, size_t length, int access) {
  return OrErrno([=] { return ReregisterMemory(region, flags, domain, address, length, access); });
}

int ibv_dereg_mr(ibv_mr* region) {
  return OrErrno([=] { return DeregisterMemory(region); });
}

}  // extern "C"
