// What a lane does about its servers: which there are, which it is connected to, and what becomes of those connections.

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "rpc/channel_lane.h"

namespace verbena::rpc {

void ChannelLane::Open() {
  if (only_ == nullptr || shut_down_) return;
  for (const auto& connection : only_->connections) connection->Open();
}

void ChannelLane::Connect() {
  if (shut_down_) return;
  connects_ = balancer_ != nullptr && !HasWantedServer();
  ConnectWanted();
}

void ChannelLane::ConnectWanted() {
  if (shut_down_) return;
  for (const auto& [id, server] : servers_) {
    if (balancer_ != nullptr && !balancer_->Wants(id)) continue;
    for (const auto& connection : server->connections) connection->Connect();
  }
}

void ChannelLane::AddServer(ServerId id, const std::string& address) {
  auto server = std::make_unique<Server>();
  server->address = address;
  for (size_t i = 0; i < lane_options_.connections; ++i) {
    ClientConnection::Options options;
    options.waits_for_connection = balancer_ == nullptr;
    options.seed = random_.Next();
    options.authentication = lane_options_.authentication;
    server->connections.push_back(
        std::make_shared<ClientConnection>(&network_, address, options_, &loop_, calls_, this, options));
    board_->Add();
    server_of_.emplace(server->connections.back().get(), id);
    const std::lock_guard lock(mu_);
    described_.push_back(server->connections.back());
  }
  servers_.emplace(id, std::move(server));
}

// Its connections close when their calls have ended.
void ChannelLane::RemoveServer(ServerId id) {
  auto removed = servers_.extract(id);
  for (const std::shared_ptr<ClientConnection>& connection : removed.mapped()->connections) {
    server_of_.erase(connection.get());
    if (health_ != nullptr) health_->Forget(*connection);
    leaving_.push_back(connection);
    connection->SetWanted(false);
  }
}

void ChannelLane::OnList(const absl::StatusOr<std::vector<ServerAddress>>& list) {
  if (shut_down_) return;
  const ServerList::Change change = balancer_->OnList(list);
  for (const ServerId id : change.removed) RemoveServer(id);
  for (const ServerId id : change.added) AddServer(id, balancer_->servers().Find(id)->address.text);
  Settle();
}

void ChannelLane::OnConnectivity(ClientConnection& connection, ConnectivityState before) {
  board_->Change(before, connection.connectivity());
  if (balancer_ == nullptr || !server_of_.contains(&connection)) return;
  if (health_ != nullptr) health_->OnConnectivity(connection);
  ReportServerOf(connection);
}

void ChannelLane::ReportServerOf(const ClientConnection& connection) {
  const ServerId id = server_of_.at(&connection);
  Report(id, *servers_.at(id));
  Settle();
}

bool ChannelLane::Has(const Server& server, ConnectivityState state) {
  return std::any_of(server.connections.begin(), server.connections.end(),
                     [state](const auto& connection) { return connection->connectivity() == state; });
}

bool ChannelLane::HasWantedServer() const {
  return std::any_of(servers_.begin(), servers_.end(), [this](const auto& entry) {
    return balancer_->Wants(entry.first) && Has(*entry.second, ConnectivityState::kReady);
  });
}

// There is a connection: nobody has asked for more.
void ChannelLane::ForgetConnect() {
  connects_ = false;
  for (const auto& [id, server] : servers_) {
    for (const auto& connection : server->connections) connection->ForgetConnect();
  }
}

// A server is what the best of its connections is.
void ChannelLane::Report(ServerId id, const Server& server) {
  if (Has(server, ConnectivityState::kReady)) return ReportReady(id, server);
  if (Has(server, ConnectivityState::kConnecting)) return balancer_->OnConnecting(id);
  const auto failed = std::find_if(server.connections.begin(), server.connections.end(), [](const auto& connection) {
    return connection->connectivity() == ConnectivityState::kTransientFailure;
  });
  if (failed == server.connections.end()) return balancer_->OnIdle(id);
  balancer_->OnFailed(id, (*failed)->last_failure());
  if (refresh_ != nullptr) refresh_();
}

// One that has yet to say how healthy it is, is still being connected.
void ChannelLane::ReportReady(ServerId id, const Server& server) {
  if (health_ == nullptr) return balancer_->OnReady(id);
  const HealthWatches::Health health = health_->Of(server.connections);
  if (health == HealthWatches::Health::kUnknown) return balancer_->OnConnecting(id);
  const bool serving = health == HealthWatches::Health::kServing;
  if (balancer_->servers().Find(id)->state != ServerState::kReady) return balancer_->OnReady(id, serving);
  balancer_->OnHealth(id, serving);
}

void ChannelLane::OnUnused(ClientConnection& connection) {
  const auto leaving = std::find_if(leaving_.begin(), leaving_.end(),
                                    [&connection](const auto& owned) { return owned.get() == &connection; });
  if (leaving == leaving_.end()) return;
  loop_.Post([self = shared_from_this(), gone = std::move(*leaving)] {  // Also where the lane is shut down meanwhile.
    self->board_->Remove(gone->connectivity());
    gone->Shutdown("its server is not in the list any more");
    const std::lock_guard lock(self->mu_);
    std::erase(self->described_, gone);
  });
  leaving_.erase(leaving);
}

void ChannelLane::OnLoad(ClientConnection& connection, double load) {
  const auto of = server_of_.find(&connection);
  if (balancer_ != nullptr && of != server_of_.end()) balancer_->OnLoad(of->second, load);
}

void ChannelLane::Settle() {
  if (settling_ || shut_down_) return;
  settling_ = true;
  while (balancer_ != nullptr && version_ != balancer_->version()) {
    version_ = balancer_->version();
    reroute_ = true;
    for (const auto& [id, server] : servers_) {
      for (const auto& connection : server->connections) connection->SetWanted(balancer_->Wants(id));
    }
    if (connects_ && HasWantedServer()) ForgetConnect();
    if (connects_) ConnectWanted();
  }
  if (std::exchange(reroute_, false) && !waiting_->empty() && !std::exchange(rerouting_, true)) {
    loop_.Post([self = shared_from_this()] { self->RerouteWaiting(); });
  }
  settling_ = false;
  SetTimer();
}

std::vector<std::string> ChannelLane::DescribeConnections() const {
  std::vector<std::string> lines;
  const std::lock_guard lock(mu_);
  for (const auto& connection : described_) {
    const std::string server = balancer_ == nullptr ? "" : absl::StrCat(connection->address(), " ");
    lines.push_back(absl::StrCat(server, connection->DescribeState()));
  }
  return lines;
}

}  // namespace verbena::rpc
