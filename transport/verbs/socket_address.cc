#include "transport/verbs/socket_address.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>

#include "absl/strings/str_cat.h"

namespace verbena::verbs {

std::string AddressText(const sockaddr* address) {
  char host[INET6_ADDRSTRLEN] = "";
  if (address != nullptr && address->sa_family == AF_INET) {
    const auto* ipv4 = reinterpret_cast<const sockaddr_in*>(address);
    inet_ntop(AF_INET, &ipv4->sin_addr, host, sizeof(host));
    return absl::StrCat(host, ":", ntohs(ipv4->sin_port));
  }
  if (address != nullptr && address->sa_family == AF_INET6) {
    const auto* ipv6 = reinterpret_cast<const sockaddr_in6*>(address);
    inet_ntop(AF_INET6, &ipv6->sin6_addr, host, sizeof(host));
    return absl::StrCat("[", host, "]:", ntohs(ipv6->sin6_port));
  }
  return "(no address)";
}

void SetPort(uint16_t port, sockaddr_storage* address) {
  if (address->ss_family == AF_INET) reinterpret_cast<sockaddr_in*>(address)->sin_port = htons(port);
  if (address->ss_family == AF_INET6) reinterpret_cast<sockaddr_in6*>(address)->sin6_port = htons(port);
}

void CompleteScope(sockaddr_storage* address) {
  auto* const ipv6 = reinterpret_cast<sockaddr_in6*>(address);
  if (address->ss_family != AF_INET6 || !IN6_IS_ADDR_LINKLOCAL(&ipv6->sin6_addr) || ipv6->sin6_scope_id != 0) return;
  ifaddrs* interfaces = nullptr;
  if (getifaddrs(&interfaces) != 0) return;
  for (const ifaddrs* one = interfaces; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != AF_INET6) continue;
    const auto* own = reinterpret_cast<const sockaddr_in6*>(one->ifa_addr);
    if (IN6_ARE_ADDR_EQUAL(&own->sin6_addr, &ipv6->sin6_addr)) ipv6->sin6_scope_id = own->sin6_scope_id;
  }
  freeifaddrs(interfaces);
}

}  // namespace verbena::verbs
