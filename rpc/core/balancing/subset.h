// The few servers of a long list that one client connects to, so that a thousand clients of a thousand servers are not
// a million connections.
//
// Rendezvous hashing (Thaler and Ravishankar, 1998; gRPC's proposal A68): the `size` servers with the highest hashes of
// (client, server). When one server of the list goes or comes, at most one of a client's subset changes. Each server is
// in as many subsets as the others, up to chance: k clients of size s and n servers give each about k * s / n clients.
// Pure; any thread.

#ifndef VERBENA_RPC_CORE_BALANCING_SUBSET_H_
#define VERBENA_RPC_CORE_BALANCING_SUBSET_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "rpc/core/balancing/server_address.h"

namespace verbena::rpc {

// In the list's order. The whole list if `size` is zero, or not less than the list's. A server named twice is one.
// `client_seed` differs by client and stays the same while it lives.
std::vector<ServerAddress> ChooseSubset(const std::vector<ServerAddress>& servers, size_t size, uint64_t client_seed);

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_CORE_BALANCING_SUBSET_H_
