#include "rpc/core/balancing/round_robin.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"

namespace verbena::rpc {

void RoundRobin::OnServersChanged(const ServerList& list) {
  absl::flat_hash_map<ServerId, int64_t> credits;
  for (const Account& account : accounts_) credits[account.id] = account.credit;
  accounts_.clear();
  weights_ = 0;
  weights_differ_ = false;
  for (size_t i = 0; i < list.servers().size(); ++i) {
    const ListedServer& server = list.servers()[i];
    if (!server.pickable) continue;
    const int64_t weight = server.address.weight;
    const auto kept = credits.find(server.id);
    accounts_.push_back({server.id, i, weight, kept == credits.end() ? 0 : kept->second});
    weights_ += weight;
    weights_differ_ |= weight != accounts_.front().weight;
  }
}

std::optional<size_t> RoundRobin::Pick(const PickRequest&, const ServerList&) {
  if (accounts_.empty()) return std::nullopt;
  if (!weights_differ_) return accounts_[turn_++ % accounts_.size()].position;
  for (Account& account : accounts_) account.credit += account.weight;
  const auto richest = std::max_element(accounts_.begin(), accounts_.end(),
                                        [](const Account& a, const Account& b) { return a.credit < b.credit; });
  richest->credit -= weights_;
  return richest->position;
}

}  // namespace verbena::rpc
