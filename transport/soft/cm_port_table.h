// Which ids of this process hold which addresses and ports, and the sockets behind them.
//
// The rules are those of TCP without SO_REUSEADDR: two ids may share a port only with different specific addresses; the
// wildcard conflicts with every address of its family, and the IPv6 wildcard with IPv4 too, unless it is IPv6 only.
// What an id holds goes back to the host when it is released.
//
// Between processes only equal addresses conflict: an IPv6 wildcard that takes IPv4 too holds both wildcards.
//
// An id that would accept TCP too (stream/fabric.h) holds the port there as well from the time it is bound, so a port
// that was chosen is still free when the id listens.
//
// Owner: ControlPlane, whose mutex guards it. Ids are only compared here, never looked into.

#ifndef VERBENA_TRANSPORT_SOFT_CM_PORT_TABLE_H_
#define VERBENA_TRANSPORT_SOFT_CM_PORT_TABLE_H_

#include <cstdint>
#include <map>
#include <random>
#include <unordered_map>
#include <vector>

#include "transport/soft/cm_address.h"
#include "transport/soft/stream/tcp_socket.h"
#include "transport/soft/unique_fd.h"

namespace verbena::soft {

struct CmId;

// Where ports come from that a caller leaves to choose: Linux's default for TCP.
inline constexpr uint16_t kChosenPortMin = 32768;
inline constexpr uint16_t kChosenPortMax = 60999;

class PortTable {
 public:
  // Reserves `address`, with a free port chosen if it has none; that is written back. `id` holds nothing yet.
  // EADDRINUSE, EINVAL for an environment that makes no sense, or what the kernel says.
  int Bind(CmId* id, SocketAddress* address, bool ipv6_only);
  // From now on FindListener finds `id`, which holds an address. EADDRINUSE: it asked for its port, and another program
  // listens there by TCP since. After a failure the id is only to be released.
  int Listen(CmId* id);
  // Gives back what `id` holds, if anything.
  void Release(CmId* id);

  // The listener that a connection to `destination` is for: of a specific address before a wildcard. Null: none.
  CmId* FindListener(const SocketAddress& destination) const;
  // What accepts connections for `id` once it listens; at most four. Nothing if it holds no address.
  struct Socket {
    int fd;
    bool for_streams;  // Of TCP.
  };
  std::vector<Socket> SocketsOf(const CmId* id) const;
  // The port that `id` holds, or 0.
  uint16_t PortOf(const CmId* id) const;

  // A number from the range above, to name an end that nobody can connect to. Reserves nothing.
  uint16_t AnyPortNumber();

  // Closes all sockets and forgets everything (the child of a fork).
  void Clear();

 private:
  struct Binding {
    CmId* id;
    SocketAddress address;
    bool ipv6_only;
    bool listening = false;
    std::vector<UniqueFd> sockets = {};
    std::vector<UniqueFd> tcp_sockets = {};
  };
  using Port = std::vector<Binding>;  // Never empty.

  static bool Conflict(const Binding& one, const Binding& other);
  int BindNumbered(Binding binding, PortClaim claim);
  static Port::iterator Find(Port& port, const CmId* id);

  std::map<uint16_t, Port> ports_;
  std::unordered_map<const CmId*, uint16_t> port_of_;  // Every id that holds one.
  std::minstd_rand random_{std::random_device{}()};
};

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_CM_PORT_TABLE_H_
