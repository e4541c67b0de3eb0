// A protection domain: a number that memory regions and queue pairs must share, and a count of what belongs to it.

#ifndef VERBENA_TRANSPORT_SOFT_PROTECTION_DOMAIN_H_
#define VERBENA_TRANSPORT_SOFT_PROTECTION_DOMAIN_H_

#include <infiniband/verbs.h>

#include <atomic>
#include <cstdint>

namespace verbena::soft {

// Owner: the application, as an ibv_pd. Thread: any.
struct ProtectionDomain : ibv_pd {
  ProtectionDomain(ibv_context* device_context, uint32_t number) : ibv_pd{device_context, number} {}

  static uint32_t Number(const ibv_pd* domain) { return domain->handle; }
  static ProtectionDomain& Of(ibv_pd* domain) { return *static_cast<ProtectionDomain*>(domain); }

  std::atomic<int> users{0};  // Regions, shared receive queues, queue pairs.
};

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_PROTECTION_DOMAIN_H_
