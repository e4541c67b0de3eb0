#include "rpc/core/balancing/server_list.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"

namespace verbena::rpc {

const char* ToString(ServerState state) {
  switch (state) {
    case ServerState::kIdle:
      return "idle";
    case ServerState::kConnecting:
      return "connecting";
    case ServerState::kReady:
      return "ready";
    case ServerState::kFailed:
      return "failed";
  }
  return "?";
}

ServerList::Change ServerList::Update(const absl::StatusOr<std::vector<ServerAddress>>& list) {
  Change change;
  list_error_ = list.status();
  if (list.ok() && list->empty()) list_error_ = absl::NotFoundError("the list of servers is empty");
  if (!list_error_.ok()) return change;

  absl::flat_hash_map<std::string, ListedServer> known;
  for (ListedServer& server : servers_) {
    std::string text = server.address.text;
    known.emplace(std::move(text), std::move(server));
  }
  servers_.clear();
  absl::flat_hash_set<absl::string_view> named;
  for (const ServerAddress& address : *list) {
    if (!named.insert(address.text).second) continue;
    const auto old = known.find(address.text);
    if (old == known.end()) {
      servers_.push_back(ListedServer{.id = ServerId{next_id_++}});
      change.added.push_back(servers_.back().id);
    } else {
      servers_.push_back(std::move(old->second));
      known.erase(old);
    }
    servers_.back().address = {address.text, std::clamp(address.weight, uint32_t{1}, kServerWeightMax)};
  }
  for (const auto& [text, server] : known) change.removed.push_back(server.id);
  std::sort(change.removed.begin(), change.removed.end());
  positions_.clear();
  for (size_t i = 0; i < servers_.size(); ++i) positions_[servers_[i].id] = i;
  return change;
}

void ServerList::UpdatePickable() {
  const auto answers = [](const ListedServer& server) { return server.state == ServerState::kReady && server.serving; };
  const bool any_good = std::any_of(servers_.begin(), servers_.end(),
                                    [&](const ListedServer& server) { return answers(server) && !server.ejected; });
  for (ListedServer& server : servers_) server.pickable = answers(server) && !(any_good && server.ejected);
}

void ServerList::ForgetFailures(absl::FunctionRef<bool(ServerId)> unwanted) {
  const bool any_good = std::any_of(servers_.begin(), servers_.end(),
                                    [](const ListedServer& server) { return server.pickable && !server.ejected; });
  if (!any_good) return;
  for (ListedServer& server : servers_) {
    if (!unwanted(server.id)) continue;
    if (server.state == ServerState::kFailed) server.state = ServerState::kIdle;
    server.failure = absl::OkStatus();
    if (server.state != ServerState::kReady) server.serving = true;
  }
}

const ListedServer* ServerList::Find(ServerId id) const {
  const auto found = positions_.find(id);
  return found == positions_.end() ? nullptr : &servers_[found->second];
}

ListedServer* ServerList::Find(ServerId id) { return const_cast<ListedServer*>(std::as_const(*this).Find(id)); }

}  // namespace verbena::rpc
