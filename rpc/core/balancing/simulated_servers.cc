#include "rpc/core/balancing/simulated_servers.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "rpc/core/balancing/server_report.h"
#include "rpc/core/balancing/test_servers.h"

namespace verbena::rpc {
namespace {

constexpr size_t kHosts = 12;
constexpr uint32_t kTableSize = 1009;  // Small: the list changes often here.

}  // namespace

SimulatedServers::SimulatedServers(PolicyKind policy, uint64_t seed)
    : keys_have_servers_(policy == PolicyKind::kConsistentHashing),
      balancer_(Balancer::Create({.policy = policy, .seed = seed, .maglev_table_size = kTableSize}).value()),
      random_(seed) {
  for (const ServerAddress& address : Addresses(kHosts)) hosts_[address.text];
}

void SimulatedServers::Step(bool faults) {
  switch (Between(0, faults ? 11 : 8)) {
    case 0:
    case 1:
    case 2: {
      const std::vector<ListedServer>& servers = balancer_->servers().servers();
      if (!servers.empty()) Connect(servers[Between(0, servers.size() - 1)]);
      break;
    }
    case 3:
    case 4:
    case 5:
    case 6:
      StartCall();
      break;
    case 7:
    case 8:
      LetTimePass(absl::Milliseconds(Between(1, 2000)));
      break;
    case 9:
      ChangeList();
      break;
    default:
      ChangeHost();
  }
  EndCalls();
  CheckCounts();
}

void SimulatedServers::ChangeList() {
  if (Between(0, 5) == 0) {
    balancer_->OnList(absl::UnavailableError("names cannot be looked up"));
    return;
  }
  std::vector<ServerAddress> list;
  for (const auto& [text, host] : hosts_) {
    if (Between(0, 2) > 0) list.push_back({text, static_cast<uint32_t>(Between(1, 4))});
  }
  const size_t before = balancer_->servers().servers().size();
  balancer_->OnList(list);
  Require(balancer_->servers().servers().size() == (list.empty() ? before : list.size()),
          "the list is not the last good");
}

void SimulatedServers::ChangeHost() {
  auto host = std::next(hosts_.begin(), static_cast<ptrdiff_t>(Between(0, kHosts - 1)));
  host->second.reachable = Between(0, 2) > 0;
  host->second.serving = Between(0, 3) > 0;
  host->second.faults_percent = Between(0, 2) > 0 ? 0 : static_cast<uint32_t>(Between(1, 100));
  host->second.latency = absl::Milliseconds(Between(1, 5000));
  for (const ListedServer& server : balancer_->servers().servers()) {
    if (server.address.text != host->first || server.state != ServerState::kReady) continue;
    balancer_->OnLoad(server.id, static_cast<double>(Between(0, 100)) / 100);
    balancer_->OnHealth(server.id, host->second.serving);
    if (!host->second.reachable) balancer_->OnFailed(server.id, absl::UnavailableError("connection lost"));
    return;
  }
}

// What a channel does next about one server.
void SimulatedServers::Connect(const ListedServer& server) {
  const ServerId id = server.id;
  const Host& host = hosts_[server.address.text];
  if (!balancer_->Wants(id)) {
    if (server.state != ServerState::kIdle) balancer_->OnIdle(id);
    return;
  }
  switch (server.state) {
    case ServerState::kIdle:
    case ServerState::kFailed:
      balancer_->OnConnecting(id);
      break;
    case ServerState::kConnecting:
      host.reachable ? balancer_->OnReady(id, host.serving)
                     : balancer_->OnFailed(id, absl::UnavailableError("refused"));
      break;
    case ServerState::kReady:
      break;
  }
}

void SimulatedServers::ConnectWanted() {
  uint64_t before;
  do {
    before = balancer_->version();
    for (size_t i = 0; i < balancer_->servers().servers().size(); ++i) Connect(balancer_->servers().servers()[i]);
  } while (balancer_->version() != before);
}

void SimulatedServers::StartCall() {
  const PickResult pick = balancer_->Pick(NextRequest());
  CheckPick(pick);
  if (pick.kind != PickResult::Kind::kServer) return;
  const std::string address = balancer_->servers().Find(pick.server)->address.text;
  balancer_->OnCallStarted(pick.server);
  calls_.push_back({pick.server, address, now_ + hosts_[address].latency});
}

void SimulatedServers::EndCalls() {
  const auto over = std::partition(calls_.begin(), calls_.end(), [this](const Call& call) { return call.end > now_; });
  const std::vector<Call> ended(over, calls_.end());
  calls_.erase(over, calls_.end());
  for (const Call& call : ended) {
    const bool fault = Between(1, 100) <= hosts_[call.address].faults_percent;
    balancer_->OnCallEnded(call.server, fault ? absl::StatusCode::kUnavailable : absl::StatusCode::kOk, now_);
  }
}

void SimulatedServers::LetTimePass(absl::Duration duration) {
  const absl::Time end = now_ + duration;
  while (balancer_->NextDeadline() <= end) {
    now_ = std::max(now_, balancer_->NextDeadline());
    balancer_->OnDeadline(now_);
    Require(balancer_->NextDeadline() > now_, "a deadline that has come comes again");
  }
  now_ = end;
}

void SimulatedServers::Heal() {
  for (auto& [text, host] : hosts_) host = Host();
  std::vector<ServerAddress> list;
  for (const auto& [text, host] : hosts_) list.push_back({text, static_cast<uint32_t>(list.size() % 3 + 1)});
  balancer_->OnList(list);
  for (const ListedServer& server : balancer_->servers().servers()) balancer_->OnHealth(server.id, true);
  for (const ListedServer& server : balancer_->servers().servers()) balancer_->OnLoad(server.id, 0);
  LetTimePass(absl::Hours(1));
  EndCalls();
  LetTimePass(absl::Hours(1));
}

std::map<std::string, int> SimulatedServers::Spread(int calls) {
  std::map<std::string, int> spread;
  for (int i = 0; i < calls; ++i) {
    const PickResult pick = balancer_->Pick(NextRequest());
    CheckPick(pick);
    if (pick.kind == PickResult::Kind::kServer) ++spread[balancer_->servers().Find(pick.server)->address.text];
  }
  return spread;
}

void SimulatedServers::CheckPick(const PickResult& pick) {
  bool any_good = false, any_answers = false, any_untried = false;
  for (const ListedServer& server : balancer_->servers().servers()) {
    const bool answers = server.state == ServerState::kReady && server.serving;
    any_answers |= answers;
    any_good |= answers && !balancer_->outliers().IsEjected(server.id);
    any_untried |= server.Untried();
  }
  switch (pick.kind) {
    case PickResult::Kind::kServer: {
      const ListedServer* server = balancer_->servers().Find(pick.server);
      Require(server != nullptr, "picked a server that is not in the list");
      if (server == nullptr) return;
      Require(server->state == ServerState::kReady && server->serving, "picked a server that is not ready");
      Require(!any_good || !balancer_->outliers().IsEjected(pick.server), "picked an ejected one beside a good one");
      return;
    }
    case PickResult::Kind::kWait:
      Require(!any_answers || keys_have_servers_, "waits although a server is ready");
      Require(any_untried || balancer_->servers().servers().empty(), "waits for nobody");
      return;
    case PickResult::Kind::kFailed:
      Require(!any_answers && !any_untried, "fails although a server is ready or untried");
      for (const ListedServer& server : balancer_->servers().servers()) {
        Require(absl::StrContains(pick.status.message(), server.address.text), "a reason is missing");
      }
  }
}

void SimulatedServers::CheckCounts() {
  std::map<ServerId, uint32_t> calls;
  for (const Call& call : calls_) ++calls[call.server];
  size_t ejected = 0;
  bool any_wanted = false;
  for (const ListedServer& server : balancer_->servers().servers()) {
    Require(server.calls_in_flight == calls[server.id], "calls in flight are miscounted");
    ejected += server.ejected;
    any_wanted |= balancer_->Wants(server.id);
  }
  Require(any_wanted || balancer_->servers().servers().empty(), "nobody is wanted");
  Require(ejected == balancer_->outliers().ejected(), "ejections are miscounted");
}

void SimulatedServers::Require(bool rule, const std::string& broken) {
  if (!rule) broken_rules_.push_back(absl::StrCat(broken, " at ", absl::FormatDuration(now_ - absl::UnixEpoch())));
}

}  // namespace verbena::rpc
