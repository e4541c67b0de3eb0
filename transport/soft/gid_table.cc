#include "transport/soft/gid_table.h"

#include <ifaddrs.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <vector>

namespace verbena::soft {
namespace {

ibv_gid MappedGid(in_addr address) {
  ibv_gid gid = {};
  gid.raw[10] = gid.raw[11] = 0xff;
  std::memcpy(gid.raw + 12, &address, sizeof(address));
  return gid;
}

ibv_gid GidOf(const in6_addr& address) {
  ibv_gid gid = {};
  std::memcpy(gid.raw, &address, sizeof(gid.raw));
  return gid;
}

bool Contains(const std::vector<ibv_gid>& table, const ibv_gid& gid) {
  return std::any_of(table.begin(), table.end(),
                     [&](const ibv_gid& other) { return std::memcmp(other.raw, gid.raw, sizeof(gid.raw)) == 0; });
}

void AddOnce(const ibv_gid& gid, std::vector<ibv_gid>* table) {
  if (!Contains(*table, gid)) table->push_back(gid);
}

void AddInterfaces(sa_family_t family, std::vector<ibv_gid>* table) {
  ifaddrs* interfaces = nullptr;
  if (getifaddrs(&interfaces) != 0) return;
  for (const ifaddrs* each = interfaces; each != nullptr; each = each->ifa_next) {
    if (each->ifa_addr == nullptr || each->ifa_addr->sa_family != family) continue;
    if (family == AF_INET) {
      AddOnce(MappedGid(reinterpret_cast<const sockaddr_in*>(each->ifa_addr)->sin_addr), table);
    } else {
      AddOnce(GidOf(reinterpret_cast<const sockaddr_in6*>(each->ifa_addr)->sin6_addr), table);
    }
  }
  freeifaddrs(interfaces);
}

std::vector<ibv_gid> ReadAddresses() {
  std::vector<ibv_gid> table;
  AddOnce(MappedGid({.s_addr = htonl(INADDR_LOOPBACK)}), &table);
  AddInterfaces(AF_INET, &table);
  AddInterfaces(AF_INET6, &table);
  return table;
}

const std::vector<ibv_gid>& Table() {
  static const auto* table = [] {
    auto* addresses = new std::vector<ibv_gid>(ReadAddresses());
    addresses->resize(std::min(addresses->size(), static_cast<size_t>(kGidsMax)));
    return addresses;
  }();
  return *table;
}

}  // namespace

int LocalGidCount() { return static_cast<int>(Table().size()); }

// All of 127.0.0.0/8 is this host's, though its interface shows one address of it.
bool IsGidOfThisHost(const ibv_gid& gid) {
  constexpr uint8_t kLoopback[] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127};
  return std::memcmp(gid.raw, kLoopback, sizeof(kLoopback)) == 0 || Contains(ReadAddresses(), gid);
}

const ibv_gid* LocalGid(int index) { return index >= 0 && index < LocalGidCount() ? &Table()[index] : nullptr; }

}  // namespace verbena::soft
