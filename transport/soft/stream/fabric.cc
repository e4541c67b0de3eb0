#include "transport/soft/stream/fabric.h"

#include <arpa/inet.h>

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"

namespace verbena::soft {
namespace {

constexpr char kFabricVariable[] = "VERBENA_SOFT_FABRIC";
constexpr char kBindVariable[] = "VERBENA_SOFT_TCP_BIND";

std::string Value(const char* variable) {
  const char* value = std::getenv(variable);
  return value == nullptr ? "" : value;
}

std::optional<SocketAddress> Parse(const std::string& text) {
  SocketAddress address;
  for (sa_family_t family : {AF_INET, AF_INET6}) {
    address.family = family;
    if (inet_pton(family, text.c_str(), address.address.data()) == 1) return address;
  }
  return std::nullopt;
}

absl::Status Invalid(const std::string& what) {
  std::fprintf(stderr, "%s\n", what.c_str());
  return absl::InvalidArgumentError(what);
}

// IPv4 has many; `address` itself if it is one.
SocketAddress Loopback(const SocketAddress& address) {
  return address.IsLoopback() ? address : SocketAddress::Wildcard(address.family, 0).AsDestination();
}

// Where both are, at the port of the first.
std::optional<SocketAddress> Common(const SocketAddress& one, const SocketAddress& other) {
  if (one.family != other.family) return std::nullopt;
  if (other.IsWildcard() || one.SameHost(other)) return one;
  if (one.IsWildcard()) return other.WithPort(one.port);
  return std::nullopt;
}

}  // namespace

absl::StatusOr<Fabric> TheFabric() {
  std::string value = Value(kFabricVariable);
  if (value.empty() || value == "auto") return Fabric::kAuto;
  if (value == "shm") return Fabric::kSharedMemory;
  if (value == "tcp") return Fabric::kTcp;
  return Invalid(absl::StrCat(kFabricVariable, " is \"", value, "\", not auto, shm or tcp"));
}

absl::StatusOr<std::optional<SocketAddress>> TcpListeningAddress(const SocketAddress& address) {
  absl::StatusOr<Fabric> fabric = TheFabric();
  if (!fabric.ok()) return fabric.status();
  std::string value = Value(kBindVariable);
  bool none = *fabric == Fabric::kSharedMemory || (*fabric == Fabric::kAuto && value.empty());
  if (none) return std::nullopt;
  if (value.empty()) return Common(address, Loopback(address));
  std::optional<SocketAddress> bind = Parse(value);
  if (!bind.has_value()) {
    return Invalid(absl::StrCat(kBindVariable, " is \"", value, "\", which is no IP address"));
  }
  bool everywhere = bind->family == AF_INET6 && bind->IsWildcard();
  return Common(address, everywhere ? SocketAddress::Wildcard(address.family, 0) : *bind);
}

bool TcpIsLikely() { return Value(kFabricVariable) == "tcp" || !Value(kBindVariable).empty(); }

}  // namespace verbena::soft
