// Addresses as a user writes them: "rdma://host:port", "soft://host:port", "host:port"; IPv6 hosts in brackets.

#ifndef VERBENA_TRANSPORT_ADDRESS_H_
#define VERBENA_TRANSPORT_ADDRESS_H_

#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

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

// Of one host, with port 0, in the order in which they are to be tried. One at least.
using HostAddresses = std::vector<sockaddr_storage>;
constexpr size_t kHostAddressesMax = 8;  // For who connects.

// Of a host that is a literal; nothing for a name.
std::optional<HostAddresses> LiteralHost(const std::string& host);
// By the system's resolver, which may block for many seconds; HostLookups does not. The first kHostAddressesMax.
// NotFound in words, Unavailable if the resolver cannot tell.
absl::StatusOr<HostAddresses> LookUpHost(const std::string& host);
// All of them, each once, with the port, for who listens. Blocks as LookUpHost does, unless the host is a literal.
absl::StatusOr<HostAddresses> ResolveHost(const Address& address);

absl::string_view ToString(Scheme scheme);  // "auto", "rdma", "soft".

}  // namespace verbena::transport

#endif  // VERBENA_TRANSPORT_ADDRESS_H_
