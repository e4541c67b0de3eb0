#include "rpc/core/balancing/least_outstanding.h"

#include <algorithm>

#include "rpc/core/split_mix.h"

namespace verbena::rpc {
namespace {

constexpr double kShareLeftMin = 0.05;

double Busyness(const ListedServer& server) {
  return server.calls_in_flight / (server.address.weight * std::max(1 - server.load, kShareLeftMin));
}

}  // namespace

void LeastOutstandingOfTwo::OnServersChanged(const ServerList& list) {
  tickets_.clear();
  uint64_t end = 0;
  for (size_t i = 0; i < list.servers().size(); ++i) {
    const ListedServer& server = list.servers()[i];
    if (server.pickable) tickets_.push_back({end += server.address.weight, i});
  }
}

size_t LeastOutstandingOfTwo::HolderOf(uint64_t lot) const {
  const auto holder = std::upper_bound(tickets_.begin(), tickets_.end(), lot,
                                       [](uint64_t value, const Ticket& ticket) { return value < ticket.end; });
  return static_cast<size_t>(holder - tickets_.begin());
}

std::optional<size_t> LeastOutstandingOfTwo::Pick(const PickRequest& request, const ServerList& list) {
  if (tickets_.empty()) return std::nullopt;
  // The remainders' bias is below 2^-20: sums of weights are far below 2^44.
  const uint64_t lots = tickets_.back().end;
  const size_t first = HolderOf(request.random % lots);
  if (tickets_.size() == 1) return tickets_[first].position;
  const uint64_t first_begin = first == 0 ? 0 : tickets_[first - 1].end;
  const uint64_t first_lots = tickets_[first].end - first_begin;
  const uint64_t lot = MixBits(request.random) % (lots - first_lots);
  const size_t second = HolderOf(lot < first_begin ? lot : lot + first_lots);
  const ListedServer& one = list.servers()[tickets_[first].position];
  const ListedServer& other = list.servers()[tickets_[second].position];
  return tickets_[Busyness(other) < Busyness(one) ? second : first].position;
}

}  // namespace verbena::rpc
