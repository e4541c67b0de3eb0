#include "rpc/core/balancing/pick_first.h"

#include <algorithm>

namespace verbena::rpc {

void PickFirst::OnServersChanged(const ServerList& list) {
  const std::vector<ListedServer>& servers = list.servers();
  const auto first = [&servers](auto condition) { return std::find_if(servers.begin(), servers.end(), condition); };
  auto chosen = first([this](const ListedServer& server) { return server.pickable && choice_ == server.id; });
  if (chosen == servers.end()) chosen = first([](const ListedServer& server) { return server.pickable; });
  choice_.reset();
  position_.reset();
  tried_.reset();
  wants_all_ = false;
  if (chosen != servers.end()) {
    choice_ = chosen->id;
    position_ = static_cast<size_t>(chosen - servers.begin());
    if (!chosen->ejected) return;
  }
  const auto untried = first([](const ListedServer& server) { return server.Untried() && !server.ejected; });
  if (untried != servers.end()) {
    tried_ = untried->id;
  } else {
    wants_all_ = true;
  }
}

}  // namespace verbena::rpc
