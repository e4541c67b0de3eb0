#include "transport/verbs/address_text.h"

#include <arpa/inet.h>
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

}  // namespace verbena::verbs
