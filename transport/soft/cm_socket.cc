#include "transport/soft/cm_socket.h"

#include <arpa/inet.h>
#include <sys/un.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace verbena::soft {
namespace {

// Connections that may wait in the kernel for AcceptPeer; cut to net.core.somaxconn by the kernel.
constexpr int kWaitingConnectionsMax = 4096;

struct AbstractAddress {
  sockaddr_un raw;
  socklen_t length;

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&raw); }
};

AbstractAddress AbstractAddressOf(const SocketAddress& named) {
  AbstractAddress address = {};
  std::string name = NameOf(named);
  assert(name.size() + 1 <= sizeof(address.raw.sun_path));
  address.raw.sun_family = AF_UNIX;
  std::copy(name.begin(), name.end(), address.raw.sun_path + 1);
  address.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return address;
}

int MakeSocket(UniqueFd* result) {
  *result = UniqueFd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  return result->valid() ? 0 : errno;
}

// SO_PEERCRED: who called connect(2), or listen(2) for the one who connected.
int CheckPeer(int socket, ucred* peer) {
  socklen_t length = sizeof(*peer);
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, peer, &length) != 0) return errno;
  return peer->uid == geteuid() ? 0 : EACCES;
}

int ConnectByName(int socket, const SocketAddress& address) {
  AbstractAddress name = AbstractAddressOf(address);
  int status;
  do {
    status = connect(socket, name.get(), name.length);
  } while (status != 0 && errno == EINTR);
  return status == 0 ? 0 : errno;
}

// Room for the descriptors of one message. More than fit are closed by the kernel, which says so with MSG_CTRUNC.
union ControlBuffer {
  cmsghdr align;
  std::byte bytes[CMSG_SPACE(kLinkOfferFdsMax * sizeof(int))];
};

// Owns every descriptor at once, so that no way out of ReceiveMessage leaks one.
std::vector<UniqueFd> TakeFds(msghdr* header) {
  std::vector<UniqueFd> fds;
  for (cmsghdr* part = CMSG_FIRSTHDR(header); part != nullptr; part = CMSG_NXTHDR(header, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int fd;
      memcpy(&fd, CMSG_DATA(part) + i * sizeof(int), sizeof(int));
      fds.emplace_back(fd);
    }
  }
  return fds;
}

// A socket whose peer closed it with our message unread reports ECONNRESET once, before what the peer had sent.
ssize_t ReceiveOnce(int socket, msghdr* header) {
  size_t control_bytes = header->msg_controllen;
  ssize_t count;
  int attempts = 0;
  do {
    header->msg_controllen = control_bytes;
    count = recvmsg(socket, header, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  } while (count < 0 && (errno == EINTR || (errno == ECONNRESET && ++attempts < 2)));
  return count;
}

class UnixControlSocket final : public ControlSocket {
 public:
  UnixControlSocket(UniqueFd socket, const ucred& peer) : socket_(std::move(socket)), peer_(peer) {}

  int fd() const override { return socket_.get(); }
  int Send(const CmMessage& message, absl::Span<const UniqueFd> fds) override {
    return SendMessage(fd(), message, fds);
  }
  Receipt Receive(ReceivedMessage* received) override { return ReceiveMessage(fd(), received); }

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

int BindAddress(const SocketAddress& address, UniqueFd* socket) {
  UniqueFd result;
  if (int error = MakeSocket(&result); error != 0) return error;
  AbstractAddress name = AbstractAddressOf(address);
  if (bind(result.get(), name.get(), name.length) != 0) return errno;
  *socket = std::move(result);
  return 0;
}

int ListenAtAddress(int socket) { return listen(socket, kWaitingConnectionsMax) == 0 ? 0 : errno; }

int ConnectToAddress(const SocketAddress& destination, UniqueFd* socket, ucred* peer) {
  UniqueFd result;
  if (int error = MakeSocket(&result); error != 0) return error;
  int error = ConnectByName(result.get(), destination);
  if (error == ECONNREFUSED) {
    error = ConnectByName(result.get(), SocketAddress::Wildcard(destination.family, destination.port));
  }
  if (error == 0) error = CheckPeer(result.get(), peer);
  if (error == 0) *socket = std::move(result);
  return error;
}

int AcceptPeer(int listening_socket, UniqueFd* socket, ucred* peer) {
  UniqueFd result(accept4(listening_socket, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!result.valid()) return errno;
  if (int error = CheckPeer(result.get(), peer); error != 0) return error;
  *socket = std::move(result);
  return 0;
}

int SendMessage(int socket, const CmMessage& message, absl::Span<const UniqueFd> fds) {
  assert(fds.size() <= kLinkOfferFdsMax);
  std::vector<std::byte> bytes = EncodeMessage(message);
  iovec part = {bytes.data(), bytes.size()};
  msghdr header = {};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  ControlBuffer control = {};
  if (!fds.empty()) {
    header.msg_control = control.bytes;
    header.msg_controllen = CMSG_SPACE(fds.size() * sizeof(int));
    cmsghdr* rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(fds.size() * sizeof(int));
    for (size_t i = 0; i < fds.size(); ++i) {
      int fd = fds[i].get();
      memcpy(CMSG_DATA(rights) + i * sizeof(int), &fd, sizeof(int));
    }
  }
  ssize_t sent;
  do {
    sent = sendmsg(socket, &header, MSG_NOSIGNAL | MSG_DONTWAIT);
  } while (sent < 0 && errno == EINTR);
  return sent < 0 ? errno : 0;
}

Receipt ReceiveMessage(int socket, ReceivedMessage* received) {
  std::array<std::byte, kMessageBytesMax> bytes;
  iovec part = {bytes.data(), bytes.size()};
  ControlBuffer control = {};
  msghdr header = {};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control.bytes;
  header.msg_controllen = sizeof(control);
  ssize_t count = ReceiveOnce(socket, &header);
  if (count < 0) return errno == EAGAIN || errno == EWOULDBLOCK ? Receipt::kNothing : Receipt::kEnd;
  received->fds = TakeFds(&header);
  if ((header.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0) return Receipt::kMalformed;
  // A message of no bytes cannot be told from the end, and is none of ours.
  if (count == 0) return Receipt::kEnd;
  absl::StatusOr<CmMessage> message = DecodeMessage(absl::MakeConstSpan(bytes.data(), static_cast<size_t>(count)));
  if (!message.ok()) return Receipt::kMalformed;
  received->message = *std::move(message);
  bool may_carry_fds = received->message.type == MessageType::kRequest || received->message.type == MessageType::kReply;
  return received->fds.empty() || may_carry_fds ? Receipt::kMessage : Receipt::kMalformed;
}

std::unique_ptr<ControlSocket> MakeUnixControlSocket(UniqueFd socket, const ucred& peer) {
  return std::make_unique<UnixControlSocket>(std::move(socket), peer);
}

}  // namespace verbena::soft
