// Socket addresses: their text, as people write it ("192.0.2.1:7471", "[2001:db8::1]:7471"), and their parts.

#ifndef VERBENA_TRANSPORT_VERBS_SOCKET_ADDRESS_H_
#define VERBENA_TRANSPORT_VERBS_SOCKET_ADDRESS_H_

#include <sys/socket.h>

#include <cstdint>
#include <string>

namespace verbena::verbs {

// `address` has the length of its family; null or another family than IPv4 and IPv6 gives "(no address)". Thread: any.
std::string AddressText(const sockaddr* address);

// `port` in host byte order; nothing happens to another family than IPv4 and IPv6.
void SetPort(uint16_t port, sockaddr_storage* address);

// A link-local IPv6 address without a scope, which cannot be bound, gets the scope of the interface that has it.
void CompleteScope(sockaddr_storage* address);

}  // namespace verbena::verbs

#endif  // VERBENA_TRANSPORT_VERBS_SOCKET_ADDRESS_H_
