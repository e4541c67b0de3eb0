// Socket addresses as people write them: "192.0.2.1:7471", "[2001:db8::1]:7471".

#ifndef VERBENA_TRANSPORT_VERBS_ADDRESS_TEXT_H_
#define VERBENA_TRANSPORT_VERBS_ADDRESS_TEXT_H_

#include <sys/socket.h>

#include <string>

namespace verbena::verbs {

// `address` has the length of its family; null or another family than IPv4 and IPv6 gives "(no address)". Thread: any.
std::string AddressText(const sockaddr* address);

}  // namespace verbena::verbs

#endif  // VERBENA_TRANSPORT_VERBS_ADDRESS_TEXT_H_
