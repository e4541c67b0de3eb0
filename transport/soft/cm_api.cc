// Event channels, ids, options, addresses and devices.

#include "transport/soft/cm_api.h"

#include <pthread.h>

#include <cerrno>
#include <memory>
#include <optional>

#include "transport/soft/cm_call.h"
#include "transport/soft/device.h"

namespace verbena::soft {
namespace {

__be16 PortIn(const sockaddr& address) {
  switch (address.sa_family) {
    case AF_INET:
      return reinterpret_cast<const sockaddr_in&>(address).sin_port;
    case AF_INET6:
      return reinterpret_cast<const sockaddr_in6&>(address).sin6_port;
    default:
      return 0;
  }
}

}  // namespace

ControlPlane& Plane() {
  static ControlPlane* const plane = [] {
    SoftContext();  // It registers its handlers first: those that prepare a fork run in the reverse order.
    static auto* made = new ControlPlane(ControlLimits{});
    RecognizeForkedChildren();
    pthread_atfork([] { made->LockForFork(); }, [] { made->UnlockAfterFork(); }, [] { made->AbandonSockets(); });
    OnDeviceFatal(&CmRaiseDeviceRemoval);
    return made;
  }();
  return *plane;
}

rdma_event_channel* CmCreateEventChannel() {
  rdma_event_channel* channel = nullptr;
  Guarded([&channel] {
    channel = EventChannel::Create().release();
    return channel != nullptr ? 0 : errno;
  });
  return channel;
}

void CmDestroyEventChannel(rdma_event_channel* channel) {
  Guarded([=] {
    EventChannel::Destroy(channel);
    return 0;
  });
}

int CmGetEvent(rdma_event_channel* channel, rdma_cm_event** event) {
  return Guarded([=] {
    if (channel == nullptr || event == nullptr) return EINVAL;
    std::shared_ptr<EventChannel> read = EventChannel::Find(channel);
    return read != nullptr ? Plane().GetEvent(*read, event) : EventChannel::WaitForDestroyed(channel);
  });
}

int CmAckEvent(rdma_cm_event* event) {
  return Guarded([=] {
    if (event == nullptr) return EINVAL;
    Plane().AckEvent(std::unique_ptr<QueuedEvent>(static_cast<QueuedEvent*>(event)));
    return 0;
  });
}

int CmCreateId(rdma_event_channel* channel, rdma_cm_id** id, void* context, rdma_port_space space) {
  return Guarded([=] {
    if (space != RDMA_PS_TCP) return EPROTONOSUPPORT;
    *id = Plane().CreateId(Own(channel), context, space);
    return *id != nullptr ? 0 : errno;
  });
}

int CmDestroyId(rdma_cm_id* id) {
  return Guarded([=] {
    Plane().DestroyId(Own(id));
    return 0;
  });
}

int CmMigrateId(rdma_cm_id* id, rdma_event_channel* channel) {
  return Guarded([=] { return Plane().MigrateId(Own(id), Own(channel)); });
}

// The type of service and the reuse of addresses are accepted, and change nothing: there is one path, and a closed port
// is free at once.
int CmSetOption(rdma_cm_id* id, int level, int name, void* value, size_t length) {
  return Guarded([=] {
    if (level != RDMA_OPTION_ID) return ENOSYS;
    switch (name) {
      case RDMA_OPTION_ID_TOS:
        return length == sizeof(uint8_t) ? 0 : EINVAL;
      case RDMA_OPTION_ID_ACK_TIMEOUT:
        return length == sizeof(uint8_t) ? Plane().SetAckTimeout(Own(id), *static_cast<const uint8_t*>(value)) : EINVAL;
      case RDMA_OPTION_ID_REUSEADDR:
        return length == sizeof(int) ? 0 : EINVAL;
      case RDMA_OPTION_ID_AFONLY:
        return length == sizeof(int) ? Plane().SetIpv6Only(Own(id), *static_cast<const int*>(value) != 0) : EINVAL;
      default:
        return ENOSYS;
    }
  });
}

int CmBindAddr(rdma_cm_id* id, sockaddr* address) {
  return Guarded([=] {
    std::optional<SocketAddress> source = SocketAddress::From(address);
    return source.has_value() ? Plane().Bind(Own(id), *source) : EINVAL;
  });
}

int CmResolveAddr(rdma_cm_id* id, sockaddr* source, sockaddr* destination, int timeout_ms) {
  return GuardedUntilEvent(id, [=] {
    std::optional<SocketAddress> from = SocketAddress::From(source);
    std::optional<SocketAddress> to = SocketAddress::From(destination);
    if (!to.has_value() || (source != nullptr && !from.has_value())) return EINVAL;
    return Plane().ResolveAddress(Own(id), from, *to);
  });
}

int CmResolveRoute(rdma_cm_id* id, int timeout_ms) {
  return GuardedUntilEvent(id, [=] { return Plane().ResolveRoute(Own(id)); });
}

__be16 CmGetSrcPort(rdma_cm_id* id) { return PortIn(id->route.addr.src_addr); }
__be16 CmGetDstPort(rdma_cm_id* id) { return PortIn(id->route.addr.dst_addr); }

ibv_context** CmGetDevices(int* count) {
  ibv_context** list = nullptr;
  Guarded([=, &list] {
    ibv_context* context = SoftContext();
    if (context == nullptr) return errno;
    list = new ibv_context* [2] { context, nullptr };
    if (count != nullptr) *count = 1;
    return 0;
  });
  return list;
}

void CmFreeDevices(ibv_context** list) { delete[] list; }

int CmJoinMulticast(rdma_cm_id*, sockaddr*, void*) { return Outcome(EOPNOTSUPP); }
int CmJoinMulticastEx(rdma_cm_id*, rdma_cm_join_mc_attr_ex*, void*) { return Outcome(EOPNOTSUPP); }
int CmLeaveMulticast(rdma_cm_id*, sockaddr*) { return Outcome(EADDRNOTAVAIL); }

void CmRaiseDeviceRemoval() { Plane().Raise(RDMA_CM_EVENT_DEVICE_REMOVAL); }
void CmRaiseAddressChange() { Plane().Raise(RDMA_CM_EVENT_ADDR_CHANGE); }

}  // namespace verbena::soft
