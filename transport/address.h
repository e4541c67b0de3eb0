// Addresses as a user writes them: "rdma://host:port", "soft://host:port", "host:port"; IPv6 hosts in brackets.

#ifndef VERBENA_TRANSPORT_ADDRESS_H_
#define VERBENA_TRANSPORT_ADDRESS_H_

#include <sys/socket.h>

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace verbena::transport {

// Which device an address asks for.
enum class Scheme {
  kAuto,  // RDMA where there is a device, else the software device.
  kRdma,
  kSoft,
};

struct Address {
  Scheme scheme = Scheme::kAuto;
  std::string host;  // A name or a literal, without brackets.
  uint16_t port = 0;
};

// InvalidArgument, quoting the address and saying what is wrong with it.
absl::StatusOr<Address> ParseAddress(absl::string_view text);

// True when the host is a literal, so that ResolveHost does not block.
bool IsLiteral(const Address& address);

// The socket address of the host: a literal at once, a name by the system's resolver, which may block. NotFound in
// words.
absl::StatusOr<sockaddr_storage> ResolveHost(const Address& address);

absl::string_view ToString(Scheme scheme);  // "auto", "rdma", "soft".

}  // namespace verbena::transport

#endif  // VERBENA_TRANSPORT_ADDRESS_H_
