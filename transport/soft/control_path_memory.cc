// Memory region and memory window calls.

#include <cerrno>
#include <memory>

#include "transport/soft/control_path.h"
#include "transport/soft/heap/shared_heap.h"
#include "transport/soft/one_sided_policy.h"
#include "transport/soft/protection_domain.h"
#include "transport/soft/soft_device.h"

namespace verbena::soft {
namespace {

constexpr int kAccessKnown = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
                             IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND | IBV_ACCESS_HUGETLB |
                             IBV_ACCESS_OPTIONAL_RANGE;  // What is optional may be ignored.

// What ibv_rereg_mr needs to know beyond ibv_mr.
struct Region : ibv_mr {
  int access;
};

// 0 with the key, or an errno value.
int AddRegion(ibv_pd* domain, void* address, size_t length, int access, uint32_t* key) {
  if (int error = SoftDevice::Existing().health().Refusal(); error != 0) return error;
  bool writes_remotely = (access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)) != 0;
  bool writes_locally = (access & IBV_ACCESS_LOCAL_WRITE) != 0;
  auto start = reinterpret_cast<uint64_t>(address);
  if (length == 0 || start + length < start || (access & ~kAccessKnown) != 0 || (writes_remotely && !writes_locally)) {
    return EINVAL;
  }
  *key = SoftDevice::Existing().keys().AddRegion(ProtectionDomain::Number(domain), {start, length},
                                                 static_cast<uint32_t>(access));
  return *key != 0 ? 0 : ENOMEM;
}

}  // namespace

ibv_mr* RegisterMemory(ibv_pd* domain, void* address, size_t length, int access) {
  uint32_t key = 0;
  if (int error = AddRegion(domain, address, length, access, &key); error != 0) {
    errno = error;
    return nullptr;
  }
  auto region = std::make_unique<Region>();
  *static_cast<ibv_mr*>(region.get()) = {.context = domain->context,
                                         .pd = domain,
                                         .addr = address,
                                         .length = length,
                                         .handle = key,
                                         .lkey = key,
                                         .rkey = key};
  region->access = access;
  ++ProtectionDomain::Of(domain).users;
  return region.release();
}

int ReregisterMemory(ibv_mr* raw, int flags, ibv_pd* domain, void* address, size_t length, int access) {
  auto* region = static_cast<Region*>(raw);
  bool moves = (flags & IBV_REREG_MR_CHANGE_TRANSLATION) != 0;
  ibv_pd* next_domain = (flags & IBV_REREG_MR_CHANGE_PD) != 0 ? domain : region->pd;
  void* next_address = moves ? address : region->addr;
  size_t next_length = moves ? length : region->length;
  int next_access = (flags & IBV_REREG_MR_CHANGE_ACCESS) != 0 ? access : region->access;
  uint32_t key = 0;
  int error = flags == 0 || (flags & ~IBV_REREG_MR_FLAGS_SUPPORTED) != 0 || next_domain == nullptr
                  ? EINVAL
                  : AddRegion(next_domain, next_address, next_length, next_access, &key);
  if (error == 0) {
    error = SoftDevice::Existing().RevokeKey(region->lkey);
    if (error != 0) SoftDevice::Existing().RevokeKey(key);
  }
  if (error != 0) {
    errno = error;
    return IBV_REREG_MR_ERR_INPUT;
  }
  --ProtectionDomain::Of(region->pd).users;
  ++ProtectionDomain::Of(next_domain).users;
  region->pd = next_domain;
  region->addr = next_address;
  region->length = next_length;
  region->access = next_access;
  region->lkey = region->rkey = key;
  return 0;
}

int DeregisterMemory(ibv_mr* region) {
  if (IsForkedChild()) return 0;
  if (int error = SoftDevice::Existing().RevokeKey(region->lkey); error != 0) return error;
  --ProtectionDomain::Of(region->pd).users;
  delete static_cast<Region*>(region);
  return 0;
}

// Nobody would map it where nobody is told of it.
void* MapMemory(size_t bytes) {
  const absl::StatusOr<OneSidedPolicy> policy = TheOneSidedPolicy();
  if (policy.ok() && *policy == OneSidedPolicy::kResponder) return nullptr;
  return SharedHeap::OfProcess().Map(bytes);
}

int UnmapMemory(void* address, size_t bytes) {
  return SharedHeap::OfProcess().Unmap(static_cast<std::byte*>(address), bytes) ? 0 : EINVAL;
}

ibv_mw* AllocMemoryWindow(ibv_pd* domain, ibv_mw_type type) {
  const SoftDevice& device = SoftDevice::Existing();
  uint32_t key = 0;
  int error = device.health().Refusal();
  if (error == 0 && (type == IBV_MW_TYPE_1 || !device.profile().memory_windows)) error = EOPNOTSUPP;
  if (error == 0 && type != IBV_MW_TYPE_2) error = EINVAL;
  if (error == 0) {
    key = SoftDevice::Existing().keys().AddWindow(ProtectionDomain::Number(domain));
    error = key != 0 ? 0 : ENOMEM;
  }
  if (error != 0) {
    errno = error;
    return nullptr;
  }
  ++ProtectionDomain::Of(domain).users;
  return new ibv_mw{.context = domain->context, .pd = domain, .rkey = key, .handle = key, .type = type};
}

int DeallocMemoryWindow(ibv_mw* window) {
  if (IsForkedChild()) return 0;
  SoftDevice::Existing().RevokeKey(window->rkey);  // Nothing can be bound to a window.
  --ProtectionDomain::Of(window->pd).users;
  delete window;
  return 0;
}

int BindMemoryWindow(ibv_qp*, ibv_mw*, ibv_mw_bind*) { return EOPNOTSUPP; }

}  // namespace verbena::soft
