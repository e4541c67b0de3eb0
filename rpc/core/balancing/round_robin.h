// Calls to all ready servers in turn, as many to each as its weight says.
//
// Equal weights: one after the other. Otherwise smooth weighted round robin (nginx, commit 52327e0627f4 of 2012): each
// pick adds its weight to every server's account, takes the richest, and charges it the sum of weights. In any sum of
// weights picks each server has exactly its weight, and a heavy server's turns are spread, not in a row. A pick is
// linear in the servers then.
//
// Accounts outlive changes, so a list that flaps does not favour its beginning.

#ifndef VERBENA_RPC_CORE_BALANCING_ROUND_ROBIN_H_
#define VERBENA_RPC_CORE_BALANCING_ROUND_ROBIN_H_

#include <vector>

#include "rpc/core/balancing/policy.h"

namespace verbena::rpc {

class RoundRobin final : public Policy {
 public:
  // `seed` is where the first turn begins, so that a thousand clients do not begin with the same server.
  explicit RoundRobin(uint64_t seed) : turn_(seed) {}

  void OnServersChanged(const ServerList& servers) override;
  std::optional<size_t> Pick(const PickRequest& request, const ServerList& servers) override;

 private:
  struct Account {
    ServerId id;
    size_t position;  // In the list.
    int64_t weight;
    int64_t credit;
  };

  std::vector<Account> accounts_;  // Of pickable servers.
  int64_t weights_ = 0;            // Their sum.
  bool weights_differ_ = false;
  uint64_t turn_;  // For equal weights.
};

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_CORE_BALANCING_ROUND_ROBIN_H_
