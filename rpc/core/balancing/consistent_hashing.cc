#include "rpc/core/balancing/consistent_hashing.h"

#include <algorithm>
#include <utility>

#include "rpc/core/split_mix.h"

namespace verbena::rpc {
namespace {

// With half of the servers gone, all but one key in 2^16 find another one by rehashing.
constexpr int kRehashesMax = 16;

}  // namespace

void ConsistentHashing::OnServersChanged(const ServerList& list) {
  std::vector<ServerAddress> addresses;
  any_pickable_ = false;
  for (const ListedServer& server : list.servers()) {
    addresses.push_back(server.address);
    any_pickable_ |= server.pickable;
  }
  if (addresses == addresses_) return;
  addresses_ = std::move(addresses);
  table_ = MaglevTable(addresses_, table_size_);
}

std::optional<size_t> ConsistentHashing::Pick(const PickRequest& request, const ServerList& list) {
  if (!any_pickable_) return std::nullopt;
  const std::vector<ListedServer>& servers = list.servers();
  const bool has_key = request.key_hash.has_value();
  uint64_t hash = request.key_hash.value_or(request.random);
  for (int i = 0; i <= kRehashesMax; ++i, hash = SplitMix64(hash).Next()) {
    const size_t found = table_.Find(hash);
    if (servers[found].pickable) return found;
    if (has_key && servers[found].Untried()) return std::nullopt;
  }
  size_t position = hash % servers.size();
  while (!servers[position].pickable) position = (position + 1) % servers.size();
  return position;
}

}  // namespace verbena::rpc
