// The less busy of two servers drawn by lot.
//
// Two choices (Mitzenmacher: The power of two choices in randomized load balancing, IEEE TPDS 12(10), 2001) come close
// to the least busy of all: the fullest of n servers is O(log log n) above the mean, not O(log n / log log n); and
// clients that do not know of each other do not all run to the same idle server.
//
// Both are drawn by weight, without replacement. Compared are the calls that this channel has in flight for each unit
// of what a server has to give: its weight, less the share that its reported load takes (a twentieth always remains,
// for loads are old). On a tie the first drawn is taken, so that idle servers share by weight.

#ifndef VERBENA_RPC_CORE_BALANCING_LEAST_OUTSTANDING_H_
#define VERBENA_RPC_CORE_BALANCING_LEAST_OUTSTANDING_H_

#include <vector>

#include "rpc/core/balancing/policy.h"

namespace verbena::rpc {

class LeastOutstandingOfTwo final : public Policy {
 public:
  void OnServersChanged(const ServerList& servers) override;
  std::optional<size_t> Pick(const PickRequest& request, const ServerList& servers) override;

 private:
  struct Ticket {
    uint64_t end;  // Lots from the previous ticket's end to this one's are this server's.
    size_t position;
  };

  // The index in tickets_ of the server that has this lot.
  size_t HolderOf(uint64_t lot) const;

  std::vector<Ticket> tickets_;  // Of pickable servers.
};

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_CORE_BALANCING_LEAST_OUTSTANDING_H_
