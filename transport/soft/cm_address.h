// An IPv4 or IPv6 address with a port, as a value: what an id is bound to, and where a connection goes.
//
// IPv4-mapped IPv6 addresses (::ffff:a.b.c.d) are turned into the IPv4 address that they stand for, so that equality
// means the same endpoint. Thread: any.

#ifndef VERBENA_TRANSPORT_SOFT_CM_ADDRESS_H_
#define VERBENA_TRANSPORT_SOFT_CM_ADDRESS_H_

#include <infiniband/verbs.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <optional>

namespace verbena::soft {

struct SocketAddress {
  sa_family_t family = AF_INET;          // AF_INET or AF_INET6.
  uint16_t port = 0;                     // Host byte order; 0 = none yet.
  uint32_t scope = 0;                    // Interface of a link-local IPv6 address; 0 = any.
  std::array<uint8_t, 16> address = {};  // Network byte order; IPv4 uses the first four bytes.

  // Nothing for a null pointer or another family.
  static std::optional<SocketAddress> From(const sockaddr* raw);
  static SocketAddress Wildcard(sa_family_t family, uint16_t port);

  // Fills all of `raw`, in the form of this family.
  void CopyTo(sockaddr_storage* raw) const;

  // IPv4 addresses in their IPv4-mapped form, as on Ethernet.
  ibv_gid ToGid() const;

  bool IsWildcard() const;
  bool IsLoopback() const;  // 127.0.0.0/8 or ::1.
  SocketAddress WithPort(uint16_t other_port) const;
  // The loopback address for the wildcard, which as a destination means "this host"; itself otherwise.
  SocketAddress AsDestination() const;

  // Ports are not compared; scopes only where both name one.
  bool SameHost(const SocketAddress& other) const;
};

// Whether this host's interfaces, as they are now, have this address. Asks the kernel; the answer may change.
bool IsAddressOfThisHost(const SocketAddress& address);

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_CM_ADDRESS_H_
