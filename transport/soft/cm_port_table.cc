#include "transport/soft/cm_port_table.h"

#include <algorithm>
#include <cassert>
#include <cerrno>

#include "transport/soft/cm_socket.h"
#include "transport/soft/stream/fabric.h"

namespace verbena::soft {
namespace {

constexpr int kChosenPorts = kChosenPortMax - kChosenPortMin + 1;

// Whether a wildcard binding receives what is sent to `address`.
bool Covers(const SocketAddress& wildcard, bool ipv6_only, const SocketAddress& address) {
  return wildcard.family == address.family || (wildcard.family == AF_INET6 && !ipv6_only);
}

// By which addresses a binding is found.
std::vector<SocketAddress> FoundAt(const SocketAddress& address, bool ipv6_only) {
  std::vector<SocketAddress> result = {address};
  bool both_families = address.family == AF_INET6 && address.IsWildcard() && !ipv6_only;
  if (both_families) result.push_back(SocketAddress::Wildcard(AF_INET, address.port));
  return result;
}

// Without effect if a listener at `address` would not accept TCP.
int HoldForStreams(const SocketAddress& address, PortClaim claim, std::vector<UniqueFd>* sockets) {
  absl::StatusOr<std::optional<SocketAddress>> at = TcpListeningAddress(address);
  if (!at.ok()) return EINVAL;
  if (!at->has_value()) return 0;
  UniqueFd socket;
  int error = BindTcp(**at, claim, &socket);
  if (error == 0) sockets->push_back(std::move(socket));
  return error;
}

}  // namespace

bool PortTable::Conflict(const Binding& one, const Binding& other) {
  if (one.address.IsWildcard() && Covers(one.address, one.ipv6_only, other.address)) return true;
  if (other.address.IsWildcard() && Covers(other.address, other.ipv6_only, one.address)) return true;
  return one.address.SameHost(other.address);
}

int PortTable::Bind(CmId* id, SocketAddress* address, bool ipv6_only) {
  assert(PortOf(id) == 0);
  if (address->port != 0) return BindNumbered({id, *address, ipv6_only}, PortClaim::kAsked);
  int start = AnyPortNumber() - kChosenPortMin;
  int error = EADDRINUSE;
  for (int i = 0; i < kChosenPorts && error == EADDRINUSE; ++i) {
    auto port = static_cast<uint16_t>(kChosenPortMin + (start + i) % kChosenPorts);
    if (ports_.count(port) > 0) continue;  // A chosen port is shared with nobody.
    error = BindNumbered({id, address->WithPort(port), ipv6_only}, PortClaim::kChosen);
    if (error == 0) address->port = port;
  }
  return error;
}

int PortTable::BindNumbered(Binding binding, PortClaim claim) {
  auto found = ports_.find(binding.address.port);
  bool taken = found != ports_.end() && std::any_of(found->second.begin(), found->second.end(),
                                                    [&](const Binding& other) { return Conflict(binding, other); });
  if (taken) return EADDRINUSE;
  for (const SocketAddress& name : FoundAt(binding.address, binding.ipv6_only)) {
    UniqueFd socket;
    if (int error = BindAddress(name, &socket); error != 0) return error;
    binding.sockets.push_back(std::move(socket));
    if (int error = HoldForStreams(name, claim, &binding.tcp_sockets); error != 0) return error;
  }
  port_of_.emplace(binding.id, binding.address.port);
  ports_[binding.address.port].push_back(std::move(binding));
  return 0;
}

int PortTable::Listen(CmId* id) {
  Binding& binding = *Find(ports_.at(port_of_.at(id)), id);
  for (const UniqueFd& socket : binding.sockets) {
    if (int error = ListenAtAddress(socket.get()); error != 0) return error;
  }
  for (const UniqueFd& socket : binding.tcp_sockets) {
    if (int error = ListenTcp(socket.get()); error != 0) return error;
  }
  binding.listening = true;
  return 0;
}

void PortTable::Release(CmId* id) {
  auto held = port_of_.find(id);
  if (held == port_of_.end()) return;
  auto found = ports_.find(held->second);
  port_of_.erase(held);
  found->second.erase(Find(found->second, id));
  if (found->second.empty()) ports_.erase(found);
}

CmId* PortTable::FindListener(const SocketAddress& destination) const {
  auto found = ports_.find(destination.port);
  if (found == ports_.end()) return nullptr;
  CmId* wildcard = nullptr;
  for (const Binding& binding : found->second) {
    if (!binding.listening) continue;
    if (binding.address.SameHost(destination)) return binding.id;
    if (binding.address.IsWildcard() && Covers(binding.address, binding.ipv6_only, destination)) wildcard = binding.id;
  }
  return wildcard;
}

std::vector<PortTable::Socket> PortTable::SocketsOf(const CmId* id) const {
  std::vector<Socket> sockets;
  auto found = ports_.find(PortOf(id));
  if (found == ports_.end()) return sockets;
  for (const Binding& binding : found->second) {
    if (binding.id != id) continue;
    for (const UniqueFd& socket : binding.sockets) sockets.push_back({socket.get(), false});
    for (const UniqueFd& socket : binding.tcp_sockets) sockets.push_back({socket.get(), true});
  }
  return sockets;
}

uint16_t PortTable::PortOf(const CmId* id) const {
  auto held = port_of_.find(id);
  return held == port_of_.end() ? 0 : held->second;
}

uint16_t PortTable::AnyPortNumber() {
  std::uniform_int_distribution<int> distribution(kChosenPortMin, kChosenPortMax);
  return static_cast<uint16_t>(distribution(random_));
}

void PortTable::Clear() {
  ports_.clear();
  port_of_.clear();
}

PortTable::Port::iterator PortTable::Find(Port& port, const CmId* id) {
  return std::find_if(port.begin(), port.end(), [id](const Binding& binding) { return binding.id == id; });
}

}  // namespace verbena::soft
