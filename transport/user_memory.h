// Memory of the user's that he registered, as the transport knows it: its registrations, found by address.
//
// On a device with memory windows it is registered once and windows are bound to it. On others nothing is registered
// here: each message registers what it sends of it (exported_payload.h says why).
//
// Owner: shared by the handle (registered_memory.h), the Cords made of it and the exports that use it. With the last of
// them the registrations end, then the user is told. Thread: any.

#ifndef VERBENA_TRANSPORT_USER_MEMORY_H_
#define VERBENA_TRANSPORT_USER_MEMORY_H_

#include <cstddef>
#include <memory>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "transport/device_regions.h"
#include "transport/verbs/protection_domain.h"

namespace verbena::transport {

class UserMemory : public std::enable_shared_from_this<UserMemory> {
 public:
  // As RegisterMemory. `on_deregistered` may be null.
  static absl::StatusOr<std::shared_ptr<UserMemory>> Register(absl::Span<std::byte> bytes,
                                                              absl::AnyInvocable<void() &&> on_deregistered);
  ~UserMemory();

  // What `[address, address + size)` stands in, or null: then nobody registered it.
  static std::shared_ptr<UserMemory> Find(const void* address, size_t size);
  // Ends every registration in this domain, before the domain does, and waits for those that others are ending. Nobody
  // uses or asks for one meanwhile.
  static void Deregister(const verbs::ProtectionDomain& domain);

  DeviceRegions& regions() { return regions_; }
  absl::Span<std::byte> bytes() const { return regions_.bytes(); }

 private:
  explicit UserMemory(absl::Span<std::byte> bytes) : regions_(bytes, DeviceRegions::Use::kSend) {}
  // Makes it known, so that Find finds it. AlreadyExists: some of its bytes are known already.
  absl::Status List();

  DeviceRegions regions_;
  bool listed_ = false;                            // Set once, before it is shared.
  absl::AnyInvocable<void() &&> on_deregistered_;  // Likewise: by Register, when nothing can fail any more.
};

}  // namespace verbena::transport

#endif  // VERBENA_TRANSPORT_USER_MEMORY_H_
