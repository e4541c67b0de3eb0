#include "transport/soft/cm_address.h"

#include <arpa/inet.h>
#include <ifaddrs.h>

#include <algorithm>
#include <cstring>
#include <memory>

namespace verbena::soft {
namespace {

constexpr std::array<uint8_t, 12> kMappedPrefix = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
constexpr std::array<uint8_t, 16> kLoopback6 = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};

SocketAddress FromIn(const sockaddr_in& raw) {
  SocketAddress result;
  result.family = AF_INET;
  result.port = ntohs(raw.sin_port);
  memcpy(result.address.data(), &raw.sin_addr, sizeof(raw.sin_addr));
  return result;
}

SocketAddress FromIn6(const sockaddr_in6& raw) {
  SocketAddress result;
  result.port = ntohs(raw.sin6_port);
  const uint8_t* bytes = raw.sin6_addr.s6_addr;
  if (std::equal(kMappedPrefix.begin(), kMappedPrefix.end(), bytes)) {
    result.family = AF_INET;
    std::copy(bytes + kMappedPrefix.size(), bytes + 16, result.address.begin());
  } else {
    result.family = AF_INET6;
    result.scope = raw.sin6_scope_id;
    std::copy(bytes, bytes + 16, result.address.begin());
  }
  return result;
}

}  // namespace

std::optional<SocketAddress> SocketAddress::From(const sockaddr* raw) {
  if (raw == nullptr) return std::nullopt;
  if (raw->sa_family == AF_INET) return FromIn(*reinterpret_cast<const sockaddr_in*>(raw));
  if (raw->sa_family == AF_INET6) return FromIn6(*reinterpret_cast<const sockaddr_in6*>(raw));
  return std::nullopt;
}

SocketAddress SocketAddress::Wildcard(sa_family_t family, uint16_t port) {
  SocketAddress result;
  result.family = family;
  result.port = port;
  return result;
}

void SocketAddress::CopyTo(sockaddr_storage* raw) const {
  memset(raw, 0, sizeof(*raw));
  raw->ss_family = family;
  if (family == AF_INET) {
    auto* in = reinterpret_cast<sockaddr_in*>(raw);
    in->sin_port = htons(port);
    memcpy(&in->sin_addr, address.data(), sizeof(in->sin_addr));
  } else {
    auto* in6 = reinterpret_cast<sockaddr_in6*>(raw);
    in6->sin6_port = htons(port);
    in6->sin6_scope_id = scope;
    memcpy(&in6->sin6_addr, address.data(), sizeof(in6->sin6_addr));
  }
}

ibv_gid SocketAddress::ToGid() const {
  ibv_gid gid = {};
  if (family == AF_INET) {
    std::copy(kMappedPrefix.begin(), kMappedPrefix.end(), gid.raw);
    std::copy(address.begin(), address.begin() + 4, gid.raw + kMappedPrefix.size());
  } else {
    std::copy(address.begin(), address.end(), gid.raw);
  }
  return gid;
}

bool SocketAddress::IsWildcard() const {
  return std::all_of(address.begin(), address.end(), [](uint8_t byte) { return byte == 0; });
}

bool SocketAddress::IsLoopback() const { return family == AF_INET ? address[0] == 127 : address == kLoopback6; }

SocketAddress SocketAddress::WithPort(uint16_t other_port) const {
  SocketAddress result = *this;
  result.port = other_port;
  return result;
}

SocketAddress SocketAddress::AsDestination() const {
  if (!IsWildcard()) return *this;
  SocketAddress result = *this;
  if (family == AF_INET) {
    result.address = {127, 0, 0, 1};
  } else {
    result.address = kLoopback6;
  }
  return result;
}

bool SocketAddress::SameHost(const SocketAddress& other) const {
  bool scopes_agree = scope == other.scope || scope == 0 || other.scope == 0;
  return family == other.family && address == other.address && scopes_agree;
}

bool IsAddressOfThisHost(const SocketAddress& address) {
  if (address.IsLoopback()) return true;
  ifaddrs* raw = nullptr;
  if (getifaddrs(&raw) != 0) return false;
  std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> interfaces(raw, &freeifaddrs);
  for (const ifaddrs* entry = interfaces.get(); entry != nullptr; entry = entry->ifa_next) {
    std::optional<SocketAddress> own = SocketAddress::From(entry->ifa_addr);
    if (own.has_value() && own->SameHost(address)) return true;
  }
  return false;
}

}  // namespace verbena::soft
