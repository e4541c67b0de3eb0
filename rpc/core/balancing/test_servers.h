// Lists of servers for tests.

#ifndef VERBENA_RPC_CORE_BALANCING_TEST_SERVERS_H_
#define VERBENA_RPC_CORE_BALANCING_TEST_SERVERS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "rpc/core/balancing/server_list.h"

namespace verbena::rpc {

// "s0", "s1", … with these weights.
inline std::vector<ServerAddress> Weighted(const std::vector<uint32_t>& weights) {
  std::vector<ServerAddress> servers;
  for (const uint32_t weight : weights) servers.push_back({absl::StrCat("s", servers.size()), weight});
  return servers;
}

inline std::vector<ServerAddress> Addresses(size_t count) { return Weighted(std::vector<uint32_t>(count, 1)); }

// A list of which all are ready.
inline ServerList ReadyList(const std::vector<ServerAddress>& servers) {
  ServerList list;
  list.Update(servers);
  for (const ListedServer& server : list.servers()) list.Find(server.id)->state = ServerState::kReady;
  list.UpdatePickable();
  return list;
}

// The server at `position`, to be changed.
inline ListedServer& At(ServerList& list, size_t position) { return *list.Find(list.servers()[position].id); }

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_CORE_BALANCING_TEST_SERVERS_H_
