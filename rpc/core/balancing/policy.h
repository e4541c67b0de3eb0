// How a channel chooses a server for a call: the interface that the policies have in common. One file a policy.
//
// A policy keeps what it needs to choose quickly, and hears of every change before the next Pick. It does not change
// servers, count calls or judge them: ServerList says who is pickable, and how many calls are in flight.
//
// Order of calls: OnServersChanged first and after each change of the list, of a state, or of who is pickable; in
// between Pick and Wants. Owner and thread: the balancer's. Pick allocates nothing.

#ifndef VERBENA_RPC_CORE_BALANCING_POLICY_H_
#define VERBENA_RPC_CORE_BALANCING_POLICY_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "rpc/core/balancing/server_list.h"

namespace verbena::rpc {

struct PickRequest {
  uint64_t random = 0;                    // Drawn for this pick, uniformly.
  std::optional<uint64_t> key_hash = {};  // Of the call's key (StableHash), for consistent hashing. None: any server.
};

class Policy {
 public:
  virtual ~Policy() = default;

  virtual void OnServersChanged(const ServerList& servers) = 0;

  // The position of a pickable server. Nullopt if none is pickable, or if the one that should have the call is still to
  // be tried.
  virtual std::optional<size_t> Pick(const PickRequest& request, const ServerList& servers) = 0;

  // Whether the channel should connect to it, or keep its connection.
  virtual bool Wants(ServerId) const { return true; }
};

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_CORE_BALANCING_POLICY_H_
