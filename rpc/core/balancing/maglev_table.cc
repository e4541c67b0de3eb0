#include "rpc/core/balancing/maglev_table.h"

#include <algorithm>
#include <numeric>

#include "rpc/core/balancing/stable_hash.h"

namespace verbena::rpc {
namespace {

constexpr uint32_t kFree = 0xffffffff;
constexpr uint64_t kSkipSeed = 0x6d61676c65767632;  // Any number: makes the second hash another one.

// A server's walk through all slots: from an offset in steps of a skip, both hashes of its name (the size is prime).
struct Permutation {
  Permutation(const ServerAddress& server, uint32_t server_index, uint32_t size)
      : index(server_index),
        weight(server.weight),
        slot(StableHash(server.text) % size),
        skip(StableHash(server.text, kSkipSeed) % (size - 1) + 1) {}

  uint32_t index;
  uint64_t weight;
  uint64_t slot;
  uint64_t skip;
  uint64_t credit = 0;  // A turn costs the heaviest weight.
};

}  // namespace

MaglevTable::MaglevTable(absl::Span<const ServerAddress> servers, uint32_t size) {
  if (servers.empty()) return;
  std::vector<uint32_t> by_name(servers.size());
  std::iota(by_name.begin(), by_name.end(), 0);
  std::sort(by_name.begin(), by_name.end(), [&](uint32_t a, uint32_t b) { return servers[a].text < servers[b].text; });
  std::vector<Permutation> permutations;
  uint64_t heaviest = 1;
  for (const uint32_t index : by_name) {
    permutations.emplace_back(servers[index], index, size);
    heaviest = std::max(heaviest, permutations.back().weight);
  }
  slots_.assign(size, kFree);
  uint32_t taken = 0;
  while (true) {
    for (Permutation& walk : permutations) {
      walk.credit += walk.weight;
      if (walk.credit < heaviest) continue;
      walk.credit -= heaviest;
      while (slots_[walk.slot] != kFree) walk.slot = (walk.slot + walk.skip) % size;
      slots_[walk.slot] = walk.index;
      if (++taken == size) return;
    }
  }
}

}  // namespace verbena::rpc
