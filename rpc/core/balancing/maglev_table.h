// Which of n servers a hash belongs to: Maglev hashing (Eisenbud et al.: Maglev: A fast and reliable software network
// load balancer, NSDI 2016, section 3.4).
//
// Each server has a permutation of the table's slots, from its name alone. In turn, and as often as its weight says,
// each takes the next free slot of its permutation. What follows, and is tested by count:
// - A look-up is one memory access.
// - Shares are even: servers of equal weight differ by at most one slot, others by the rounding of their turns.
// - The table depends on names and weights alone, not on the list's order: clients that have the same list agree.
// - When one of n servers leaves the list, its 1/n of the keys move, spread over all others, and besides them a few
// that
//   need not: below 1 % for up to a hundred servers (the price of evenness; a ring or rendezvous hashing would move
//   none, at shares that differ by tens of percent or look-ups linear in n).
//
// Building takes O(size * log(size)) steps in the mean, some milliseconds for the default size: it is done when the
// list changes, not when a server fails. A value; one thread at a time; Find from any.

#ifndef VERBENA_RPC_CORE_BALANCING_MAGLEV_TABLE_H_
#define VERBENA_RPC_CORE_BALANCING_MAGLEV_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "rpc/core/balancing/server_address.h"

namespace verbena::rpc {

// The paper's smaller size, a prime: even to 1 % for up to 655 servers. 256 KiB of memory.
inline constexpr uint32_t kMaglevTableSize = 65537;

class MaglevTable {
 public:
  // `size` is a prime. Texts differ. Of servers past `size`, some have no slot.
  MaglevTable(absl::Span<const ServerAddress> servers, uint32_t size);

  // The index of a server. The table is not empty.
  size_t Find(uint64_t hash) const { return slots_[hash % slots_.size()]; }

  bool empty() const { return slots_.empty(); }
  absl::Span<const uint32_t> slots() const { return slots_; }  // Index of a server, by slot.

 private:
  std::vector<uint32_t> slots_;  // Empty if there are no servers.
};

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_CORE_BALANCING_MAGLEV_TABLE_H_
