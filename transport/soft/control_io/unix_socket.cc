#include "transport/soft/control_io/unix_socket.h"

#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstring>
#include <utility>

namespace verbena::soft {
namespace {

// Connections that may wait in the kernel for AcceptPeer; cut to net.core.somaxconn by the kernel.
constexpr int kWaitingConnectionsMax = 4096;

struct AbstractAddress {
  sockaddr_un raw;
  socklen_t length;

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&raw); }
};

AbstractAddress AddressOf(const std::string& name) {
  AbstractAddress address = {};
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

// Room for the descriptors of one message. More than fit are closed by the kernel, which says so with MSG_CTRUNC.
union ControlBuffer {
  cmsghdr align;
  std::byte bytes[CMSG_SPACE(kPacketFdsMax * sizeof(int))];
};

// Owns every descriptor at once, so that no way out of ReceivePacket leaks one.
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

}  // namespace

int BindName(const std::string& name, UniqueFd* socket) {
  UniqueFd result;
  if (int error = MakeSocket(&result); error != 0) return error;
  AbstractAddress address = AddressOf(name);
  if (bind(result.get(), address.get(), address.length) != 0) return errno;
  *socket = std::move(result);
  return 0;
}

int ListenForPeers(int socket) { return listen(socket, kWaitingConnectionsMax) == 0 ? 0 : errno; }

int ConnectToName(const std::string& name, UniqueFd* socket, ucred* peer) {
  UniqueFd result;
  if (int error = MakeSocket(&result); error != 0) return error;
  AbstractAddress address = AddressOf(name);
  int status;
  do {
    status = connect(result.get(), address.get(), address.length);
  } while (status != 0 && errno == EINTR);
  if (status != 0) return errno;
  if (int error = CheckPeer(result.get(), peer); error != 0) return error;
  *socket = std::move(result);
  return 0;
}

int AcceptPeer(int listening, UniqueFd* socket, ucred* peer) {
  UniqueFd result(accept4(listening, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!result.valid()) return errno;
  if (int error = CheckPeer(result.get(), peer); error != 0) return error;
  *socket = std::move(result);
  return 0;
}

int SendPacket(int socket, absl::Span<const std::byte> bytes, absl::Span<const UniqueFd> fds) {
  assert(fds.size() <= kPacketFdsMax);
  iovec part = {const_cast<std::byte*>(bytes.data()), bytes.size()};
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

Receipt ReceivePacket(int socket, absl::Span<std::byte> room, size_t* length, std::vector<UniqueFd>* fds) {
  iovec part = {room.data(), room.size()};
  ControlBuffer control = {};
  msghdr header = {};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control.bytes;
  header.msg_controllen = sizeof(control);
  ssize_t count = ReceiveOnce(socket, &header);
  if (count < 0) return errno == EAGAIN || errno == EWOULDBLOCK ? Receipt::kNothing : Receipt::kEnd;
  *fds = TakeFds(&header);
  if ((header.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0) return Receipt::kMalformed;
  // A packet of no bytes cannot be told from the end, and is none of ours.
  if (count == 0) return Receipt::kEnd;
  *length = static_cast<size_t>(count);
  return Receipt::kMessage;
}

}  // namespace verbena::soft
