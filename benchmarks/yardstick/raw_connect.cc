#include "benchmarks/yardstick/raw_connect.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"

namespace verbena::benchmarks {
namespace {

// For each step of connecting. The other end makes its memory in one of them: gigabytes of it take a machine seconds.
constexpr int kTimeoutMs = 60000;

absl::StatusOr<sockaddr_in> ParseAddress(const std::string& host, uint16_t port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  if (inet_pton(AF_INET, host.c_str(), &address.sin_addr) == 1) return address;
  return absl::InvalidArgumentError(absl::StrCat("\"", host, "\" is no IPv4 address"));
}

verbs::ConnectionParameters Parameters(const RawShape& shape) {
  const auto depth = static_cast<uint8_t>(std::min<uint32_t>(shape.ring_areas, 16));
  return {.private_data = {}, .responder_resources = depth, .initiator_depth = depth};
}

}  // namespace

absl::StatusOr<verbs::CmEvent> WaitForCmEvent(verbs::CmEventChannel& channel, rdma_cm_event_type wanted) {
  for (;;) {
    absl::StatusOr<std::optional<verbs::CmEvent>> event = channel.NextEvent();
    if (!event.ok()) return event.status();
    if (event->has_value()) {
      if ((*event)->type() == wanted) return **std::move(event);
      if (absl::Status failure = (*event)->Failure(); !failure.ok()) return failure;
      continue;
    }
    pollfd readable = {.fd = channel.fd(), .events = POLLIN, .revents = 0};
    const int count = poll(&readable, 1, kTimeoutMs);
    if (count == 0) return absl::DeadlineExceededError(absl::StrCat("no event \"", verbs::ToString(wanted), "\""));
    if (count < 0 && errno != EINTR) return absl::ErrnoToStatus(errno, "poll");
  }
}

absl::StatusOr<ConnectingId> ResolveRaw(const verbs::VerbsApi& api, const std::string& host, uint16_t port) {
  const absl::StatusOr<sockaddr_in> address = ParseAddress(host, port);
  if (!address.ok()) return address.status();
  absl::StatusOr<verbs::CmEventChannel> channel = verbs::CmEventChannel::Create(api);
  if (!channel.ok()) return channel.status();
  absl::StatusOr<verbs::ConnectionId> id = verbs::ConnectionId::Create(*channel);
  if (!id.ok()) return id.status();
  const absl::Duration timeout = absl::Milliseconds(kTimeoutMs);
  absl::Status status = id->ResolveAddress(nullptr, reinterpret_cast<const sockaddr*>(&*address), timeout);
  if (status.ok()) status = WaitForCmEvent(*channel, RDMA_CM_EVENT_ADDR_RESOLVED).status();
  if (status.ok()) status = id->ResolveRoute(timeout);
  if (status.ok()) status = WaitForCmEvent(*channel, RDMA_CM_EVENT_ROUTE_RESOLVED).status();
  if (!status.ok()) return status;
  return ConnectingId{*std::move(channel), *std::move(id)};
}

absl::StatusOr<RawListener> RawListener::Create(const verbs::VerbsApi& api, const std::string& host) {
  const absl::StatusOr<sockaddr_in> address = ParseAddress(host, 0);
  if (!address.ok()) return address.status();
  absl::StatusOr<verbs::CmEventChannel> channel = verbs::CmEventChannel::Create(api);
  if (!channel.ok()) return channel.status();
  absl::StatusOr<verbs::ConnectionId> id = verbs::ConnectionId::Create(*channel);
  if (!id.ok()) return id.status();
  if (absl::Status status = id->Bind(reinterpret_cast<const sockaddr*>(&*address)); !status.ok()) return status;
  if (absl::Status status = id->Listen(1); !status.ok()) return status;
  return RawListener(*std::move(channel), *std::move(id));
}

absl::StatusOr<ConnectingId> RawListener::NextRequest() {
  absl::StatusOr<verbs::CmEvent> request = WaitForCmEvent(channel_, RDMA_CM_EVENT_CONNECT_REQUEST);
  if (!request.ok()) return request.status();
  absl::StatusOr<verbs::CmEventChannel> own_channel = verbs::CmEventChannel::Create(channel_.api());
  if (!own_channel.ok()) return own_channel.status();
  verbs::ConnectionId id = request->TakeRequest();
  if (absl::Status status = id.MigrateTo(*own_channel); !status.ok()) return status;
  return ConnectingId{*std::move(own_channel), std::move(id)};
}

absl::StatusOr<std::unique_ptr<RawEnd>> RawListener::Accept(const RawShape& shape) {
  absl::StatusOr<ConnectingId> request = NextRequest();
  if (!request.ok()) return request.status();
  absl::StatusOr<std::unique_ptr<RawEnd>> end =
      RawEnd::Create(std::move(request->channel), std::move(request->id), shape);
  if (!end.ok()) return end.status();

  const RemoteRing ring = (*end)->own_ring();
  std::array<std::byte, sizeof(ring)> private_data;
  std::memcpy(private_data.data(), &ring, sizeof(ring));
  verbs::ConnectionParameters parameters = Parameters(shape);
  parameters.private_data = private_data;
  if (absl::Status status = (*end)->id().Accept(parameters); !status.ok()) return status;
  if (absl::Status status = WaitForCmEvent((*end)->cm_channel(), RDMA_CM_EVENT_ESTABLISHED).status(); !status.ok()) {
    return status;
  }
  return end;
}

absl::StatusOr<std::unique_ptr<RawEnd>> RawConnect(const verbs::VerbsApi& api, const std::string& host, uint16_t port,
                                                   const RawShape& shape) {
  absl::StatusOr<ConnectingId> resolved = ResolveRaw(api, host, port);
  if (!resolved.ok()) return resolved.status();
  absl::StatusOr<std::unique_ptr<RawEnd>> end =
      RawEnd::Create(std::move(resolved->channel), std::move(resolved->id), shape);
  if (!end.ok()) return end.status();

  if (absl::Status status = (*end)->id().Connect(Parameters(shape)); !status.ok()) return status;
  absl::StatusOr<verbs::CmEvent> established = WaitForCmEvent((*end)->cm_channel(), RDMA_CM_EVENT_ESTABLISHED);
  if (!established.ok()) return established.status();
  RemoteRing ring;
  if (established->private_data().size() < sizeof(ring)) {
    return absl::InternalError("the server did not say where its memory is");
  }
  std::memcpy(&ring, established->private_data().data(), sizeof(ring));
  (*end)->set_peer_ring(ring);
  return end;
}

}  // namespace verbena::benchmarks
