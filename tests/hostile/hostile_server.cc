#include "tests/hostile/hostile_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "transport/soft/soft_api.h"

namespace verbena::hostile {
namespace {

constexpr int kBacklog = 16;

protocol::HandshakeOptions AnswerOptions() {
  protocol::HandshakeOptions options;
  options.receive_buffer_bytes = HostileDevice::kFrameBytes;
  options.read_depth = 16;
  return options;
}

}  // namespace

HostileServer::HostileServer(verbs::CmEventChannel channel, verbs::ConnectionId listener)
    : channel_(std::move(channel)),
      listener_(std::move(listener)),
      address_(absl::StrCat("soft://", listener_.LocalAddress())) {}

absl::StatusOr<std::unique_ptr<HostileServer>> HostileServer::Listen() {
  absl::StatusOr<verbs::CmEventChannel> channel = verbs::CmEventChannel::Create(soft::SoftApi());
  if (!channel.ok()) return channel.status();
  absl::StatusOr<verbs::ConnectionId> listener = verbs::ConnectionId::Create(*channel);
  if (!listener.ok()) return listener.status();
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  absl::Status status = listener->Bind(reinterpret_cast<const sockaddr*>(&address));
  if (status.ok()) status = listener->Listen(kBacklog);
  if (!status.ok()) return status;
  return std::unique_ptr<HostileServer>(new HostileServer(*std::move(channel), *std::move(listener)));
}

absl::StatusOr<verbs::CmEvent> HostileServer::NextRequest() {
  for (;;) {
    absl::StatusOr<verbs::CmEvent> event = NextEvent(channel_);
    if (!event.ok() || event->type() == RDMA_CM_EVENT_CONNECT_REQUEST) return event;
  }
}

absl::StatusOr<std::unique_ptr<HostilePeer>> HostileServer::Answer(verbs::CmEvent request,
                                                                   absl::Span<const std::byte> answer,
                                                                   const protocol::Agreement& agreement) {
  absl::StatusOr<verbs::CmEventChannel> channel = verbs::CmEventChannel::Create(soft::SoftApi());
  if (!channel.ok()) return channel.status();
  verbs::ConnectionId id = request.TakeRequest();
  if (absl::Status status = id.MigrateTo(*channel); !status.ok()) return status;
  absl::StatusOr<std::unique_ptr<HostileDevice>> device = HostileDevice::Make(*std::move(channel), std::move(id));
  if (!device.ok()) return device.status();
  verbs::ConnectionParameters parameters;
  parameters.private_data = answer;
  parameters.responder_resources = request.responder_resources();
  parameters.initiator_depth = request.initiator_depth();
  parameters.rnr_retry_count = 0;
  if (absl::Status status = (*device)->id().Accept(parameters); !status.ok()) return status;
  return std::make_unique<HostilePeer>(*std::move(device), agreement);
}

absl::StatusOr<std::unique_ptr<HostilePeer>> HostileServer::Accept(const std::function<void(wire::Hello*)>& spoil) {
  absl::StatusOr<verbs::CmEvent> request = NextRequest();
  if (!request.ok()) return request.status();
  const auto verdict = protocol::ServerHandshake(AnswerOptions()).OnOffer(request->private_data());
  const auto* const offered = std::get_if<protocol::Agreement>(&verdict);
  if (offered == nullptr) return absl::InternalError("an honest client's hello is refused");
  protocol::Agreement agreement = *offered;
  agreement.ours = protocol::AnswerOf(agreement, HostileDevice::kReceives);
  spoil(&agreement.ours);
  Bytes answer(wire::kHelloBytes);
  wire::EncodeHello(agreement.ours, answer.data());
  return Answer(*std::move(request), answer, agreement);
}

absl::StatusOr<std::unique_ptr<HostilePeer>> HostileServer::AcceptWith(absl::Span<const std::byte> answer) {
  absl::StatusOr<verbs::CmEvent> request = NextRequest();
  if (!request.ok()) return request.status();
  return Answer(*std::move(request), answer, {});
}

absl::Status HostileServer::RejectWith(absl::Span<const std::byte> rejection) {
  absl::StatusOr<verbs::CmEvent> request = NextRequest();
  if (!request.ok()) return request.status();
  return request->TakeRequest().Reject(rejection);
}

}  // namespace verbena::hostile
