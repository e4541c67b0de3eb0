// ControlPlane: what an id is bound to, and where it wants to go. Nothing here waits: routes are looked up, not tried.

#include <cerrno>

#include "transport/soft/cm_control_plane.h"
#include "transport/soft/cm_queue_pair_attributes.h"
#include "transport/soft/control_path.h"
#include "transport/soft/device.h"
#include "transport/soft/process_faults.h"
#include "transport/soft/stream/fabric.h"
#include "transport/soft/stream/tcp_socket.h"

namespace verbena::soft {
namespace {

constexpr uint16_t kDefaultPartitionKey = 0xffff;  // The same in either byte order.
constexpr uint8_t kExactly = 2;                    // A selector of the path record: not more, not less.
constexpr uint8_t kHopLimit = 64;
constexpr uint8_t kPacketLifeTime = 18;  // 4.096 us * 2^18: what the kernel assumes on Ethernet.

}  // namespace

int ControlPlane::Bind(CmId& id, const SocketAddress& address) {
  if (!address.IsWildcard() && !IsAddressOfThisHost(address)) return EADDRNOTAVAIL;
  ControlLock lock(mu_);
  return BindLocked(id, address);
}

int ControlPlane::BindLocked(CmId& id, const SocketAddress& address) {
  if (id.state != IdState::kIdle) return EINVAL;
  SocketAddress source = address;
  if (!address.IsWildcard() && SoftContext() == nullptr) return errno;
  if (int error = ports_.Bind(&id, &source, id.ipv6_only); error != 0) return error;
  SetSource(id, source);
  id.state = IdState::kBound;
  return 0;
}

// An id with a specific address belongs to the device; one with the wildcard does not yet.
void ControlPlane::SetSource(CmId& id, const SocketAddress& source) {
  id.source = source;
  source.CopyTo(&id.route.addr.src_storage);
  if (source.IsWildcard()) return;
  id.verbs = SoftContext();
  id.port_num = kDevicePort;
  id.route.addr.addr.ibaddr.pkey = kDefaultPartitionKey;
  id.route.addr.addr.ibaddr.sgid = source.ToGid();
  if (default_domain_ == nullptr) default_domain_ = AllocProtectionDomain(id.verbs);
  id.pd = default_domain_;
}

void ControlPlane::SetDestination(CmId& id, const SocketAddress& destination) {
  id.destination = destination;
  destination.CopyTo(&id.route.addr.dst_storage);
  id.route.addr.addr.ibaddr.dgid = destination.ToGid();
}

// For programs that look at the route: one path, straight to the peer.
void ControlPlane::SetPath(CmId& id) {
  const rdma_ib_addr& address = id.route.addr.addr.ibaddr;
  id.path.dgid = address.dgid;
  id.path.sgid = address.sgid;
  id.path.pkey = address.pkey;
  id.path.hop_limit = kHopLimit;
  id.path.reversible = 1;
  id.path.numb_path = 1;
  id.path.mtu_selector = kExactly;
  id.path.mtu = IBV_MTU_4096;
  id.path.rate_selector = kExactly;
  id.path.rate = IBV_RATE_10_GBPS;
  id.path.packet_life_time_selector = kExactly;
  id.path.packet_life_time = kPacketLifeTime;
  id.route.path_rec = &id.path;
  id.route.num_paths = 1;
}

int ControlPlane::ResolveAddress(CmId& id, const std::optional<SocketAddress>& source,
                                 const SocketAddress& destination) {
  SocketAddress target = destination.AsDestination();
  absl::StatusOr<Fabric> fabric = TheFabric();
  if (!fabric.ok()) return EINVAL;
  bool local = IsAddressOfThisHost(target);
  bool over_tcp = *fabric == Fabric::kTcp || (*fabric == Fabric::kAuto && !local);
  // To reach one of its own addresses a host uses that very address as the source.
  SocketAddress usual_source = target;
  int unreachable = local ? 0 : ENETUNREACH;
  if (!local && over_tcp) unreachable = FindSource(target, &usual_source);
  if (source.has_value() && !source->IsWildcard() && !IsAddressOfThisHost(*source)) return EADDRNOTAVAIL;
  if (SoftContext() == nullptr) return errno;
  ControlLock lock(mu_);
  if (id.state != IdState::kIdle && id.state != IdState::kBound) return EINVAL;
  if (source.has_value() && id.state == IdState::kIdle && source->port != 0) {
    if (int error = BindLocked(id, *source); error != 0) return error;
  }
  SocketAddress from =
      id.state == IdState::kBound ? id.source : source.value_or(SocketAddress::Wildcard(target.family, 0));
  if (from.family != target.family) return EINVAL;
  bool times_out = FaultOfNextCall(FaultOperation::kResolve).has_value();
  if (unreachable != 0 || times_out) {
    Post(id, RDMA_CM_EVENT_ADDR_ERROR, times_out ? -ETIMEDOUT : -unreachable);
    return 0;
  }
  if (from.IsWildcard()) from = usual_source.WithPort(from.port);
  if (from.port == 0) from.port = ports_.AnyPortNumber();
  SetSource(id, from);
  SetDestination(id, target);
  id.over_tcp = over_tcp;
  id.state = IdState::kAddressResolved;
  Post(id, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
  return 0;
}

int ControlPlane::ResolveRoute(CmId& id) {
  ControlLock lock(mu_);
  if (id.state != IdState::kAddressResolved) return EINVAL;
  SetPath(id);
  id.state = IdState::kRouteResolved;
  Post(id, RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
  return 0;
}

}  // namespace verbena::soft
