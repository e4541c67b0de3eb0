// A protection domain: a number that memory regions and queue pairs must share, and a count of what belongs to it.
//
// A parent domain (ibv_alloc_parent_domain) is another name for a domain: it has that one's number, and is counted as
// its user. A thread domain is a promise of the program that needs no keeping here; it only must outlive what was made
// with it.

#ifndef VERBENA_TRANSPORT_SOFT_PROTECTION_DOMAIN_H_
#define VERBENA_TRANSPORT_SOFT_PROTECTION_DOMAIN_H_

#include <infiniband/verbs.h>

#include <atomic>
#include <cstdint>

namespace verbena::soft {

// Owner: the application, as an ibv_td. Thread: any.
struct ThreadDomain : ibv_td {
  explicit ThreadDomain(ibv_context* device_context) : ibv_td{device_context} {}

  static ThreadDomain& Of(ibv_td* domain) { return *static_cast<ThreadDomain*>(domain); }

  std::atomic<int> users{0};  // Parent domains.
};

// Owner: the application, as an ibv_pd. Thread: any.
struct ProtectionDomain : ibv_pd {
  ProtectionDomain(ibv_context* device_context, uint32_t number) : ibv_pd{device_context, number} {}
  // A parent domain. `thread_domain` may be null.
  ProtectionDomain(ProtectionDomain* named_domain, ThreadDomain* thread_domain_of_it)
      : ibv_pd(*named_domain), named(named_domain), thread_domain(thread_domain_of_it) {
    ++named->users;
    if (thread_domain != nullptr) ++thread_domain->users;
  }
  ~ProtectionDomain() {
    if (named != nullptr) --named->users;
    if (thread_domain != nullptr) --thread_domain->users;
  }
  ProtectionDomain(const ProtectionDomain&) = delete;
  ProtectionDomain& operator=(const ProtectionDomain&) = delete;

  static uint32_t Number(const ibv_pd* domain) { return domain->handle; }
  static ProtectionDomain& Of(ibv_pd* domain) { return *static_cast<ProtectionDomain*>(domain); }

  std::atomic<int> users{0};  // Regions, shared receive queues, queue pairs, parent domains.

  // Only a parent domain has them: the domain that it is a name for, and a promise about threads.
  ProtectionDomain* const named = nullptr;
  ThreadDomain* const thread_domain = nullptr;
};

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_PROTECTION_DOMAIN_H_
