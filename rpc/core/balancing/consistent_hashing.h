// Calls of one key to one server, as long as it is there: a Maglev table over all servers of the list.
//
// The table holds servers that are not pickable, too. A call whose server is not goes on by rehashing its key: when a
// server fails exactly its own keys move, spread over the others, and when it is back they return, exactly. Only a
// change of the list builds another table; see maglev_table.h for what moves then.
//
// A key's call waits for its server while that is still to be tried (at the start, after an idle time-out), as with
// gRPC's ring_hash, so that clients which have just started find what others left there. Once it has failed the call
// goes on without waiting. Clients may learn of a failure at different moments: affinity is for caches, not for locks.

#ifndef VERBENA_RPC_CORE_BALANCING_CONSISTENT_HASHING_H_
#define VERBENA_RPC_CORE_BALANCING_CONSISTENT_HASHING_H_

#include <vector>

#include "rpc/core/balancing/maglev_table.h"
#include "rpc/core/balancing/policy.h"

namespace verbena::rpc {

class ConsistentHashing final : public Policy {
 public:
  // `table_size` is a prime.
  explicit ConsistentHashing(uint32_t table_size = kMaglevTableSize)
      : table_size_(table_size), table_({}, table_size) {}

  void OnServersChanged(const ServerList& servers) override;
  std::optional<size_t> Pick(const PickRequest& request, const ServerList& servers) override;

 private:
  const uint32_t table_size_;
  std::vector<ServerAddress> addresses_;  // That the table was built of.
  MaglevTable table_;
  bool any_pickable_ = false;
};

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_CORE_BALANCING_CONSISTENT_HASHING_H_
