#include "transport/soft/cm_socket.h"

#include <arpa/inet.h>

#include <array>
#include <cerrno>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace verbena::soft {
namespace {

static_assert(kLinkOfferFdsMax <= kPacketFdsMax);

class UnixControlSocket final : public ControlSocket {
 public:
  UnixControlSocket(UniqueFd socket, const ucred& peer) : socket_(std::move(socket)), peer_(peer) {}

  int fd() const override { return socket_.get(); }
  int Send(const CmMessage& message, absl::Span<const UniqueFd> fds) override {
    return SendMessage(fd(), message, fds);
  }
  Receipt Receive(ReceivedMessage* received) override { return ReceiveMessage(fd(), received); }
  std::optional<ucred> peer() const override { return peer_; }

  absl::StatusOr<LinkOffer> MakeOffer(ibv_qp* queue_pair, const LinkParameters& parameters) override {
    return soft::MakeOffer(queue_pair, parameters);
  }
  absl::StatusOr<LinkOffer> AcceptOffer(ibv_qp* queue_pair, LinkOffer offer,
                                        const LinkParameters& parameters) override {
    return soft::AcceptOffer(queue_pair, std::move(offer), peer_, parameters);
  }
  absl::Status CompleteOffer(ibv_qp* queue_pair, LinkOffer answer) override {
    return soft::CompleteOffer(queue_pair, std::move(answer), peer_);
  }

 private:
  const UniqueFd socket_;
  const ucred peer_;
};

}  // namespace

std::string NameOf(const SocketAddress& address) {
  char text[INET6_ADDRSTRLEN];
  inet_ntop(address.family, address.address.data(), text, sizeof(text));
  return absl::StrCat("verbena-soft-cm/", text, "/", address.port);
}

int BindAddress(const SocketAddress& address, UniqueFd* socket) { return BindName(NameOf(address), socket); }

int ListenAtAddress(int socket) { return ListenForPeers(socket); }

int ConnectToAddress(const SocketAddress& destination, UniqueFd* socket, ucred* peer) {
  int error = ConnectToName(NameOf(destination), socket, peer);
  if (error != ECONNREFUSED) return error;
  return ConnectToName(NameOf(SocketAddress::Wildcard(destination.family, destination.port)), socket, peer);
}

int SendMessage(int socket, const CmMessage& message, absl::Span<const UniqueFd> fds) {
  return SendPacket(socket, EncodeMessage(message), fds);
}

Receipt ReceiveMessage(int socket, ReceivedMessage* received) {
  std::array<std::byte, kCmMessageBytesMax> bytes;
  size_t length = 0;
  Receipt receipt = ReceivePacket(socket, absl::MakeSpan(bytes), &length, &received->fds);
  if (receipt != Receipt::kMessage) return receipt;
  absl::StatusOr<CmMessage> message = DecodeMessage(absl::MakeConstSpan(bytes.data(), length));
  if (!message.ok()) return Receipt::kMalformed;
  received->message = *std::move(message);
  bool may_carry_fds = received->message.type == MessageType::kRequest || received->message.type == MessageType::kReply;
  return received->fds.empty() || may_carry_fds ? Receipt::kMessage : Receipt::kMalformed;
}

std::unique_ptr<ControlSocket> MakeUnixControlSocket(UniqueFd socket, const ucred& peer) {
  return std::make_unique<UnixControlSocket>(std::move(socket), peer);
}

}  // namespace verbena::soft
