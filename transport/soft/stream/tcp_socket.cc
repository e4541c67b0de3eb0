#include "transport/soft/stream/tcp_socket.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"

namespace verbena::soft {
namespace {

// Connections that may wait in the kernel; cut to net.core.somaxconn there.
constexpr int kWaitingConnectionsMax = 4096;

constexpr size_t kPiecesMax = 8;

struct RawAddress {
  explicit RawAddress(const SocketAddress& address) { address.CopyTo(&raw); }

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&raw); }
  socklen_t length() const { return raw.ss_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6); }

  sockaddr_storage raw;
};

void SetOption(int socket, int level, int name, int value) { setsockopt(socket, level, name, &value, sizeof(value)); }

int MakeSocket(sa_family_t family, int type, UniqueFd* result) {
  *result = UniqueFd(::socket(family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  return result->valid() ? 0 : errno;
}

std::string NameEnd(const SocketAddress& address) {
  char text[INET6_ADDRSTRLEN] = {};
  inet_ntop(address.family, address.address.data(), text, sizeof(text));
  return absl::StrCat("[", text, "]:", address.port);
}

}  // namespace

int BeginConnect(const SocketAddress& source, const SocketAddress& destination, UniqueFd* socket) {
  UniqueFd result;
  if (int error = MakeSocket(destination.family, SOCK_STREAM, &result); error != 0) return error;
  SetOption(result.get(), IPPROTO_TCP, TCP_NODELAY, 1);
  if (!source.IsWildcard() && source.family == destination.family) {
    SetOption(result.get(), IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1);
    RawAddress raw(source.WithPort(0));  // A port number of the active side names nothing.
    if (bind(result.get(), raw.get(), raw.length()) != 0) return errno;
  }
  RawAddress raw(destination);
  int status;
  do {
    status = connect(result.get(), raw.get(), raw.length());
  } while (status != 0 && errno == EINTR);
  if (status != 0 && errno != EINPROGRESS) return errno;
  *socket = std::move(result);
  return 0;
}

int ConnectOutcome(int socket) {
  int error = 0;
  socklen_t length = sizeof(error);
  return getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &length) == 0 ? error : errno;
}

int BindTcp(const SocketAddress& address, PortClaim claim, UniqueFd* socket) {
  UniqueFd result;
  if (int error = MakeSocket(address.family, SOCK_STREAM, &result); error != 0) return error;
  SetOption(result.get(), SOL_SOCKET, SO_REUSEADDR, claim == PortClaim::kAsked ? 1 : 0);
  if (address.family == AF_INET6) SetOption(result.get(), IPPROTO_IPV6, IPV6_V6ONLY, 1);
  RawAddress raw(address);
  if (bind(result.get(), raw.get(), raw.length()) != 0) return errno;
  *socket = std::move(result);
  return 0;
}

int ListenTcp(int socket) { return listen(socket, kWaitingConnectionsMax) == 0 ? 0 : errno; }

int AcceptTcp(int listener, UniqueFd* socket) {
  UniqueFd result(accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!result.valid()) return errno;
  SetOption(result.get(), IPPROTO_TCP, TCP_NODELAY, 1);
  *socket = std::move(result);
  return 0;
}

std::optional<Ends> EndsOf(int socket) {
  sockaddr_storage own = {};
  sockaddr_storage peer = {};
  socklen_t own_length = sizeof(own);
  socklen_t peer_length = sizeof(peer);
  bool connected = getsockname(socket, reinterpret_cast<sockaddr*>(&own), &own_length) == 0 &&
                   getpeername(socket, reinterpret_cast<sockaddr*>(&peer), &peer_length) == 0;
  if (!connected) return std::nullopt;
  auto own_address = SocketAddress::From(reinterpret_cast<const sockaddr*>(&own));
  auto peer_address = SocketAddress::From(reinterpret_cast<const sockaddr*>(&peer));
  if (!own_address.has_value() || !peer_address.has_value()) return std::nullopt;
  return Ends{*own_address, *peer_address};
}

std::string NameEnds(int socket, bool connected_by_us) {
  std::optional<Ends> ends = EndsOf(socket);
  if (!ends.has_value()) return "";
  if (!connected_by_us) std::swap(ends->own, ends->peer);
  return absl::StrCat(NameEnd(ends->own), ">", NameEnd(ends->peer));
}

void SetPatience(int socket, std::chrono::milliseconds patience) {
  // Probes of a silent host begin after a third of the time, and are given up at its end by TCP_USER_TIMEOUT.
  auto third_s = std::chrono::duration_cast<std::chrono::seconds>(patience / 3).count();
  int interval_s = static_cast<int>(std::clamp<int64_t>(third_s, 1, 7200));
  SetOption(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<int>(std::min<int64_t>(patience.count(), INT32_MAX)));
  SetOption(socket, IPPROTO_TCP, TCP_KEEPIDLE, interval_s);
  SetOption(socket, IPPROTO_TCP, TCP_KEEPINTVL, interval_s);
  SetOption(socket, SOL_SOCKET, SO_KEEPALIVE, patience.count() != 0 ? 1 : 0);
}

int FindSource(const SocketAddress& destination, SocketAddress* source) {
  UniqueFd probe;  // Connecting a datagram socket only looks up the route.
  if (int error = MakeSocket(destination.family, SOCK_DGRAM, &probe); error != 0) return error;
  RawAddress raw(destination);
  sockaddr_storage own = {};
  socklen_t length = sizeof(own);
  if (connect(probe.get(), raw.get(), raw.length()) != 0 ||
      getsockname(probe.get(), reinterpret_cast<sockaddr*>(&own), &length) != 0) {
    return errno;
  }
  *source = SocketAddress::From(reinterpret_cast<const sockaddr*>(&own))->WithPort(0);
  return 0;
}

Transfer ReadSome(int socket, absl::Span<std::byte> to) {
  ssize_t count;
  do {
    count = recv(socket, to.data(), to.size(), MSG_DONTWAIT);
  } while (count < 0 && errno == EINTR);
  if (count < 0) return {.error = errno};
  return {.bytes = static_cast<size_t>(count)};
}

Transfer WriteSome(int socket, absl::Span<const absl::Span<const std::byte>> pieces) {
  std::array<iovec, kPiecesMax> parts;
  size_t used = 0;
  for (absl::Span<const std::byte> piece : pieces.subspan(0, std::min(pieces.size(), kPiecesMax))) {
    if (!piece.empty()) parts[used++] = {const_cast<std::byte*>(piece.data()), piece.size()};
  }
  msghdr message = {};
  message.msg_iov = parts.data();
  message.msg_iovlen = used;
  ssize_t count;
  do {
    count = sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  } while (count < 0 && errno == EINTR);
  if (count < 0) return {.error = errno};
  return {.bytes = static_cast<size_t>(count)};
}

}  // namespace verbena::soft
