#include "rpc/core/balancing/balancer.h"

#include <algorithm>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/strings/str_cat.h"
#include "rpc/core/balancing/consistent_hashing.h"
#include "rpc/core/balancing/least_outstanding.h"
#include "rpc/core/balancing/pick_first.h"
#include "rpc/core/balancing/round_robin.h"
#include "rpc/core/balancing/server_report.h"
#include "rpc/core/balancing/subset.h"

namespace verbena::rpc {
namespace {

constexpr uint32_t kMaglevTableSizeMin = 3;
constexpr uint32_t kMaglevTableSizeMax = 5'000'011;  // Envoy's limit.

bool IsPrime(uint32_t number) {
  for (uint32_t divisor = 2; uint64_t{divisor} * divisor <= number; ++divisor) {
    if (number % divisor == 0) return false;
  }
  return number > 1;
}

std::unique_ptr<Policy> MakePolicy(const BalancerOptions& options) {
  switch (options.policy) {
    case PolicyKind::kPickFirst:
      return std::make_unique<PickFirst>();
    case PolicyKind::kRoundRobin:
      return std::make_unique<RoundRobin>(options.seed);
    case PolicyKind::kLeastOutstandingOfTwo:
      return std::make_unique<LeastOutstandingOfTwo>();
    case PolicyKind::kConsistentHashing:
      return std::make_unique<ConsistentHashing>(options.maglev_table_size);
  }
  return nullptr;  // CheckOptions refuses what is no policy.
}

}  // namespace

const char* ToString(PolicyKind kind) {
  switch (kind) {
    case PolicyKind::kPickFirst:
      return "pick_first";
    case PolicyKind::kRoundRobin:
      return "round_robin";
    case PolicyKind::kLeastOutstandingOfTwo:
      return "least_outstanding_of_two";
    case PolicyKind::kConsistentHashing:
      return "consistent_hashing";
  }
  return "?";
}

absl::Status CheckOptions(const BalancerOptions& options) {
  if (MakePolicy({.policy = options.policy}) == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("BalancerOptions: policy is ", static_cast<int>(options.policy), ", which is no PolicyKind"));
  }
  if (options.policy == PolicyKind::kConsistentHashing && options.subset_size != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("BalancerOptions: subset_size is ", options.subset_size,
                     "; with consistent_hashing it must be 0, for clients with other subsets send a key elsewhere"));
  }
  if (options.maglev_table_size < kMaglevTableSizeMin || options.maglev_table_size > kMaglevTableSizeMax ||
      !IsPrime(options.maglev_table_size)) {
    return absl::InvalidArgumentError(absl::StrCat("BalancerOptions: maglev_table_size is ", options.maglev_table_size,
                                                   "; it must be a prime from ", kMaglevTableSizeMin, " to ",
                                                   kMaglevTableSizeMax));
  }
  return CheckOptions(options.outlier);
}

absl::StatusOr<std::unique_ptr<Balancer>> Balancer::Create(const BalancerOptions& options) {
  if (const absl::Status status = CheckOptions(options); !status.ok()) return status;
  return absl::WrapUnique(new Balancer(options));
}

Balancer::Balancer(const BalancerOptions& options)
    : options_(options), policy_(MakePolicy(options)), outliers_(options.outlier) {
  Update();
}

ServerList::Change Balancer::OnList(const absl::StatusOr<std::vector<ServerAddress>>& list) {
  ServerList::Change change = list.ok() ? servers_.Update(ChooseSubset(*list, options_.subset_size, options_.seed))
                                        : servers_.Update(list.status());
  outliers_.SetServers(servers_.servers());
  Update();
  return change;
}

void Balancer::OnConnecting(ServerId id) {
  ListedServer* server = servers_.Find(id);
  if (server == nullptr) return;
  server->state = ServerState::kConnecting;
  Update();
}

void Balancer::OnReady(ServerId id, bool serving) {
  ListedServer* server = servers_.Find(id);
  if (server == nullptr) return;
  if (server->state != ServerState::kReady) server->load = 0;
  server->state = ServerState::kReady;
  server->failure = absl::OkStatus();
  server->serving = serving;
  Update();
}

void Balancer::OnFailed(ServerId id, absl::Status reason) {
  ListedServer* server = servers_.Find(id);
  if (server == nullptr) return;
  server->state = ServerState::kFailed;
  server->failure = reason.ok() ? absl::UnknownError("no reason was given") : std::move(reason);
  server->serving = true;  // That was said on a connection which is gone; the failure is the newer reason.
  Update();
}

void Balancer::OnIdle(ServerId id) {
  ListedServer* server = servers_.Find(id);
  if (server == nullptr) return;
  server->state = ServerState::kIdle;
  Update();
}

void Balancer::OnHealth(ServerId id, bool serving) {
  ListedServer* server = servers_.Find(id);
  if (server == nullptr || server->state != ServerState::kReady || server->serving == serving) return;
  server->serving = serving;
  Update();
}

void Balancer::OnLoad(ServerId id, double load) {
  ListedServer* server = servers_.Find(id);
  if (server != nullptr && load == load) server->load = std::clamp(load, 0.0, 1.0);  // Not if it is no number.
}

PickResult Balancer::Pick(const PickRequest& request) {
  if (const std::optional<size_t> position = policy_->Pick(request, servers_)) {
    return {PickResult::Kind::kServer, servers_.servers()[*position].id, absl::OkStatus()};
  }
  if (AnyWorthWaitingFor()) return {PickResult::Kind::kWait, ServerId{0}, absl::OkStatus()};
  if (no_server_.ok()) no_server_ = NoServerStatus(servers_);
  return {PickResult::Kind::kFailed, ServerId{0}, no_server_};
}

bool Balancer::AnyWorthWaitingFor() const {
  if (servers_.servers().empty()) return servers_.list_error().ok();
  return std::any_of(servers_.servers().begin(), servers_.servers().end(),
                     [](const ListedServer& server) { return server.Untried(); });
}

void Balancer::OnCallStarted(ServerId id) {
  if (ListedServer* server = servers_.Find(id)) ++server->calls_in_flight;
}

void Balancer::OnCallEnded(ServerId id, absl::StatusCode code, absl::Time now) {
  ListedServer* server = servers_.Find(id);
  if (server == nullptr) return;
  if (server->calls_in_flight > 0) --server->calls_in_flight;
  if (outliers_.OnCallEnded(id, OutcomeOf(code), now)) OnEjectionsChanged();
}

void Balancer::OnDeadline(absl::Time now) {
  if (outliers_.OnDeadline(now)) OnEjectionsChanged();
}

void Balancer::OnEjectionsChanged() {
  for (const ListedServer& server : servers_.servers())
    servers_.Find(server.id)->ejected = outliers_.IsEjected(server.id);
  Update();
}

void Balancer::Update() {
  servers_.UpdatePickable();
  policy_->OnServersChanged(servers_);
  servers_.ForgetFailures([this](ServerId id) { return !policy_->Wants(id); });
  no_server_ = absl::OkStatus();
  ++version_;
}

}  // namespace verbena::rpc
