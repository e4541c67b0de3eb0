#include "transport/soft/cm_api.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <memory>
#include <new>
#include <optional>

#include "transport/soft/cm_control_plane.h"
#include "transport/soft/device.h"

namespace verbena::soft {
namespace {

// Set in the child of a fork, for ever.
std::atomic<bool> forked{false};

// Never destroyed: the control thread may outlive main.
ControlPlane& Plane() {
  static ControlPlane* const plane = [] {
    static auto* made = new ControlPlane(ControlLimits{});
    pthread_atfork([] { made->LockForFork(); }, [] { made->UnlockAfterFork(); },
                   [] {
                     forked.store(true);
                     made->AbandonSockets();
                     made->UnlockAfterFork();
                   });
    return made;
  }();
  return *plane;
}

CmId& Own(rdma_cm_id* id) { return *static_cast<CmId*>(id); }
EventChannel& Own(rdma_event_channel* channel) { return *static_cast<EventChannel*>(channel); }

// The errno value of a call -> its return value.
int Outcome(int error) {
  if (error == 0) return 0;
  errno = error;
  return -1;
}

// Every call that can fail goes through here: in the child of a fork all do, and so does one without memory.
template <typename Call>
int Guarded(Call call) {
  if (forked.load()) return Outcome(ENODEV);
  try {
    return Outcome(call());
  } catch (const std::bad_alloc&) {
    return Outcome(ENOMEM);
  }
}

// Nothing if there is more than `bytes_max`, or a length without bytes.
std::optional<PrivateData> CopyPrivateData(const void* bytes, uint8_t length, size_t bytes_max) {
  if (length > bytes_max || (length > 0 && bytes == nullptr)) return std::nullopt;
  PrivateData result;
  result.length = length;
  const auto* first = static_cast<const std::byte*>(bytes);
  std::copy(first, first + length, result.bytes.begin());
  return result;
}

// Nothing if a value has more bits than InfiniBand's messages.
std::optional<ConnectionParameters> CopyParameters(const rdma_conn_param& raw) {
  constexpr uint8_t kRetryCountMax = 7;
  ConnectionParameters result;
  result.responder_resources = raw.responder_resources;
  result.initiator_depth = raw.initiator_depth;
  result.flow_control = raw.flow_control;
  result.retry_count = raw.retry_count;
  result.rnr_retry_count = raw.rnr_retry_count;
  if (raw.retry_count > kRetryCountMax || raw.rnr_retry_count > kRetryCountMax) return std::nullopt;
  return result;
}

}  // namespace

rdma_event_channel* CmCreateEventChannel() {
  rdma_event_channel* channel = nullptr;
  Guarded([&channel] {
    channel = EventChannel::Create().release();
    return channel != nullptr ? 0 : errno;
  });
  return channel;
}

void CmDestroyEventChannel(rdma_event_channel* channel) { delete &Own(channel); }

int CmGetEvent(rdma_event_channel* channel, rdma_cm_event** event) {
  return Guarded([=] { return channel == nullptr ? EINVAL : Plane().GetEvent(Own(channel), event); });
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
    if (channel == nullptr) return EINVAL;
    if (space != RDMA_PS_TCP) return EPROTONOSUPPORT;
    *id = Plane().CreateId(Own(channel), context, space);
    return 0;
  });
}

int CmDestroyId(rdma_cm_id* id) {
  return Guarded([=] {
    Plane().DestroyId(Own(id));
    return 0;
  });
}

int CmMigrateId(rdma_cm_id* id, rdma_event_channel* channel) {
  return Guarded([=] {
    if (channel == nullptr) return EINVAL;
    Plane().MigrateId(Own(id), Own(channel));
    return 0;
  });
}

// Nothing is lost, reordered or timed out in shared memory, and a closed port is free at once: the type of service, the
// acknowledgement timeout and the reuse of addresses are accepted, and change nothing.
int CmSetOption(rdma_cm_id* id, int level, int name, void* value, size_t length) {
  return Guarded([=] {
    if (level != RDMA_OPTION_ID) return ENOSYS;
    switch (name) {
      case RDMA_OPTION_ID_TOS:
      case RDMA_OPTION_ID_ACK_TIMEOUT:
        return length == sizeof(uint8_t) ? 0 : EINVAL;
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
  return Guarded([=] {
    std::optional<SocketAddress> from = SocketAddress::From(source);
    std::optional<SocketAddress> to = SocketAddress::From(destination);
    if (!to.has_value() || (source != nullptr && !from.has_value())) return EINVAL;
    return Plane().ResolveAddress(Own(id), from, *to);
  });
}

int CmResolveRoute(rdma_cm_id* id, int timeout_ms) {
  return Guarded([=] { return Plane().ResolveRoute(Own(id)); });
}

int CmListen(rdma_cm_id* id, int backlog) {
  return Guarded([=] { return Plane().Listen(Own(id), backlog); });
}

__be16 CmGetSrcPort(rdma_cm_id* id) {
  const rdma_addr& address = id->route.addr;
  switch (address.src_addr.sa_family) {
    case AF_INET:
      return address.src_sin.sin_port;
    case AF_INET6:
      return address.src_sin6.sin6_port;
    default:
      return 0;
  }
}

int CmConnect(rdma_cm_id* id, rdma_conn_param* parameters) {
  return Guarded([=] {
    if (parameters == nullptr) return EINVAL;
    std::optional<ConnectionParameters> copy = CopyParameters(*parameters);
    std::optional<PrivateData> private_data =
        CopyPrivateData(parameters->private_data, parameters->private_data_len, kRequestPrivateDataMax);
    if (!copy.has_value() || !private_data.has_value()) return EINVAL;
    return Plane().Connect(Own(id), *copy, *private_data);
  });
}

int CmAccept(rdma_cm_id* id, rdma_conn_param* parameters) {
  return Guarded([=] {
    if (parameters == nullptr) return Plane().Accept(Own(id), std::nullopt, {});
    std::optional<ConnectionParameters> copy = CopyParameters(*parameters);
    std::optional<PrivateData> private_data =
        CopyPrivateData(parameters->private_data, parameters->private_data_len, kReplyPrivateDataMax);
    if (!copy.has_value() || !private_data.has_value()) return EINVAL;
    return Plane().Accept(Own(id), copy, *private_data);
  });
}

int CmReject(rdma_cm_id* id, const void* private_data, uint8_t length) {
  return Guarded([=] {
    std::optional<PrivateData> copy = CopyPrivateData(private_data, length, kRejectPrivateDataMax);
    return copy.has_value() ? Plane().Reject(Own(id), *copy) : EINVAL;
  });
}

int CmDisconnect(rdma_cm_id* id) {
  return Guarded([=] { return Plane().Disconnect(Own(id)); });
}

int CmCreateQp(rdma_cm_id* id, ibv_pd* domain, ibv_qp_init_attr* attributes) {
  return Guarded([=] { return Plane().MakeQueuePair(Own(id), domain, attributes); });
}

void CmDestroyQp(rdma_cm_id* id) {
  Guarded([=] {
    Plane().DropQueuePair(Own(id));
    return 0;
  });
}

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

}  // namespace verbena::soft
