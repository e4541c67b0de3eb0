#include "rpc/core/balancing/subset.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "rpc/core/balancing/stable_hash.h"

namespace verbena::rpc {

std::vector<ServerAddress> ChooseSubset(const std::vector<ServerAddress>& servers, size_t size, uint64_t client_seed) {
  if (size == 0 || size >= servers.size()) return servers;
  using Rank = std::pair<uint64_t, absl::string_view>;
  const uint64_t seed = MixBits(client_seed);
  const auto rank = [seed](const ServerAddress& server) {
    return Rank(MixBits(StableHash(server.text) ^ seed), server.text);
  };
  std::vector<Rank> ranks;
  absl::flat_hash_set<absl::string_view> named;
  for (const ServerAddress& server : servers) {
    if (named.insert(server.text).second) ranks.push_back(rank(server));
  }
  if (size >= ranks.size()) return servers;
  std::nth_element(ranks.begin(), ranks.begin() + (size - 1), ranks.end(), std::greater<>());
  absl::flat_hash_set<absl::string_view> chosen;
  for (size_t i = 0; i < size; ++i) chosen.insert(ranks[i].second);
  std::vector<ServerAddress> subset;
  for (const ServerAddress& server : servers) {
    if (chosen.contains(server.text)) subset.push_back(server);
  }
  return subset;
}

}  // namespace verbena::rpc
