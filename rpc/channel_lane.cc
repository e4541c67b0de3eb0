#include "rpc/channel_lane.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "rpc/certainty.h"
#include "rpc/client_interception.h"
#include "rpc/core/balancing/stable_hash.h"
#include "rpc/executor/callback_scope.h"

namespace verbena::rpc {
namespace {

constexpr ServerId kOnlyServer = ServerId{0};

// By method, else service, else for all. Null: there is none.
template <typename Policies>
const typename Policies::mapped_type* NearestPolicy(const Policies& policies, absl::string_view method) {
  if (policies.empty()) return nullptr;
  for (const absl::string_view name : {method, method.substr(0, method.find('/')), absl::string_view()}) {
    const auto policy = policies.find(name);
    if (policy != policies.end()) return &policy->second;
  }
  return nullptr;
}

// Before another attempt of it. False: of its streams too much has gone.
bool Restart(const UserCall& call) { return call.stream == nullptr || call.stream->Restart(); }

absl::Status NoneAnyMore() {
  return WithCertainty(absl::CancelledError("the channel is being destroyed"), Certainty::kNotSent);
}

}  // namespace

ChannelLane::ChannelLane(Network* network, std::unique_ptr<Balancer> balancer, std::function<void()> refresh,
                         const ChannelOptions& channel_options, transport::EventLoop* loop,
                         std::shared_ptr<ConnectivityBoard> board, const Options& options)
    : network_(*network),
      balancer_(std::move(balancer)),
      refresh_(std::move(refresh)),
      options_(std::make_shared<const ChannelOptions>(channel_options)),
      loop_(*loop),
      handle_(std::make_shared<transport::LoopHandle>(loop)),
      board_(std::move(board)),
      lane_options_(options),
      calls_(ClientCallPool::Create(handle_)),
      waiting_(std::make_shared<WaitingCalls>(handle_)),
      retrying_(std::make_shared<WaitingCalls>(handle_)),
      hedged_(std::make_shared<HedgedCalls>(options_->calls_in_flight_max, loop, handle_, &retry_budget_,
                                            [this](UserCall call) { Attempt(std::move(call)); })),
      random_(options.seed),
      retry_budget_(channel_options.retry_budget),
      timer_(loop, this) {}

ChannelLane::~ChannelLane() = default;

std::shared_ptr<ChannelLane> ChannelLane::WithServer(Network* network, const std::string& address,
                                                     const ChannelOptions& channel_options, transport::EventLoop* loop,
                                                     std::shared_ptr<ConnectivityBoard> board, const Options& options) {
  std::shared_ptr<ChannelLane> lane(
      new ChannelLane(network, nullptr, nullptr, channel_options, loop, std::move(board), options));
  lane->AddServer(kOnlyServer, address);
  lane->only_ = lane->servers_.at(kOnlyServer).get();
  return lane;
}

std::shared_ptr<ChannelLane> ChannelLane::WithBalancer(Network* network, std::unique_ptr<Balancer> balancer,
                                                       std::function<void()> refresh,
                                                       const ChannelOptions& channel_options,
                                                       transport::EventLoop* loop,
                                                       std::shared_ptr<ConnectivityBoard> board,
                                                       const Options& options) {
  std::shared_ptr<ChannelLane> lane(new ChannelLane(network, std::move(balancer), std::move(refresh), channel_options,
                                                    loop, std::move(board), options));
  if (const std::optional<std::string>& service = channel_options.health_check_service) {
    lane->health_ = std::make_unique<HealthWatches>(
        *service, loop, lane->handle_,
        [lane = lane.get()](ClientConnection& connection) { lane->ReportServerOf(connection); });
  }
  return lane;
}

void ChannelLane::Open() {
  if (only_ == nullptr || shut_down_) return;
  for (const auto& connection : only_->connections) connection->Open();
}

void ChannelLane::Connect() {
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

ClientConnection& ChannelLane::NextConnection(Server& server) {
  // One that has a connection, if there is one.
  for (size_t i = 0; i < server.connections.size(); ++i) {
    ClientConnection& connection = *server.connections[server.next];
    if (++server.next == server.connections.size()) server.next = 0;
    if (connection.connectivity() == ConnectivityState::kReady) return connection;
  }
  return *server.connections[server.next];
}

void ChannelLane::Start(UserCall&& call) {
  if (shut_down_) return EndLater(std::move(call), NoneAnyMore());
  if (!options_->interceptors.empty()) {
    if (absl::Status refused = InterceptCall(options_->interceptors, call); !refused.ok()) {
      return EndLater(std::move(call), std::move(refused));
    }
  }
  call.deadline = ClientCallBinding::DeadlineOf(*call.context, options_->default_timeout, loop_);
  const HedgingPolicy* const hedging =
      call.kind == MethodKind::kUnary ? NearestPolicy(options_->hedging, call.method) : nullptr;
  if (hedging != nullptr && !hedged_->full()) return hedged_->Start(std::move(call), hedging);
  call.retry = hedging == nullptr ? NearestPolicy(options_->retries, call.method) : nullptr;
  Attempt(std::move(call));
}

void ChannelLane::StartLater(UserCall&& call) {
  // Once pushed the call may end, and the channel go. Not const: a closure would copy its own of it whenever it is
  // moved.
  std::shared_ptr<ChannelLane> self = shared_from_this();
  call.KeepRequest();
  handed_over_.Push(std::move(call));
  // Also if there are others: who pushed them may be held up before its Post.
  self->loop_.Post([self] {
    if (self->handed_over_.empty()) return;
    self->handed_over_.TakeAll([&self](UserCall&& handed_over) { self->Start(std::move(handed_over)); });
  });
}

// Not at once: a caller who tries again in `done` would never come to an end.
void ChannelLane::EndLater(UserCall call, absl::Status status) {
  loop_.Post([call = std::make_unique<UserCall>(std::move(call)), status = std::move(status)]() mutable {
    WaitingCalls::End(std::move(*call), std::move(status));
  });
}

inline void ChannelLane::Attempt(UserCall&& call) {
  ++call.attempts;
  if (only_ == nullptr || call.retry != nullptr) {
    call.router = this;
    call.KeepRequest();
  }
  if (only_ != nullptr) return NextConnection(*only_).Start(std::move(call));
  AttemptAtAny(std::move(call));
}

void ChannelLane::AttemptAtAny(UserCall&& call) {
  const bool patient =
      ClientCallBinding::WaitsForReady(*call.context) || options_->connect_timeout == absl::ZeroDuration();
  call.wait_until = patient ? call.deadline : std::min(call.deadline, loop_.Now() + options_->connect_timeout);
  if (!Route(std::move(call))) Connect();
  SetTimer();
}

PickResult ChannelLane::PickFor(const UserCall& call) {
  const std::optional<std::string>& key = ClientCallBinding::HashKey(*call.context);
  return balancer_->Pick({random_.Next(), key.has_value() ? std::optional(StableHash(*key)) : std::nullopt});
}

bool ChannelLane::Route(UserCall&& call) {
  const PickResult pick = PickFor(call);
  if (pick.kind == PickResult::Kind::kServer && !shut_down_) {
    call.server = static_cast<uint64_t>(pick.server);
    balancer_->OnCallStarted(pick.server);
    NextConnection(*servers_.at(pick.server)).Start(std::move(call));
    return true;
  }
  // Zero: only for the attempts that are under way.
  if (pick.kind == PickResult::Kind::kFailed && options_->connect_timeout == absl::ZeroDuration() &&
      !ClientCallBinding::WaitsForReady(*call.context)) {
    EndLater(std::move(call), pick.status);
  } else {
    Park(std::move(call));
  }
  return false;
}

void ChannelLane::Park(UserCall call) {
  if (shut_down_) return EndLater(std::move(call), NoneAnyMore());
  if (waiting_->size() >= options_->calls_in_flight_max) {
    return EndLater(std::move(call),
                    absl::ResourceExhaustedError(
                        absl::StrCat(options_->calls_in_flight_max, " calls wait for a server (calls_in_flight_max)")));
  }
  const absl::Time until = call.wait_until;
  waiting_->Add(std::move(call), until);
}

void ChannelLane::RerouteWaiting() {
  rerouting_ = false;
  const CallbackScope scope(this);
  bool some_wait = false;
  waiting_->TakeEach([&](UserCall call) { some_wait |= !Route(std::move(call)); });
  if (some_wait) Connect();
  SetTimer();
}

bool ChannelLane::OnAttemptEnded(UserCall& call, const absl::Status& status) {
  if (balancer_ != nullptr) balancer_->OnCallEnded(ServerId{call.server}, status.code(), loop_.Now());
  const bool goes_on = GoElsewhere(call, status) || Retry(call, status);
  Settle();
  return goes_on;
}

// Plans another attempt of a call that failed, if it is to have one. False: that was the last.
bool ChannelLane::Retry(UserCall& call, const absl::Status& status) {
  if (call.retry == nullptr || shut_down_) return false;
  const AttemptEnd end = {status.code(), GetCertainty(status), PushbackIn(*call.context)};
  const std::optional<absl::Duration> delay =
      NextRetry(*call.retry, call.attempts, end, call.deadline - loop_.Now(), retry_budget_, random_);
  if (!delay.has_value() || !Restart(call)) return false;
  if (call.reply != nullptr) call.reply->Clear();
  call.certainty = std::max(call.certainty, end.certainty);
  retrying_->Add(std::move(call), loop_.Now() + *delay);
  return true;
}

// What a server has not begun may be done by another, without anybody's leave; each at most once, and one chance more.
// False: it is not for another.
bool ChannelLane::GoElsewhere(UserCall& call, const absl::Status& status) {
  const bool may = balancer_ != nullptr && !shut_down_ && absl::IsUnavailable(status) &&
                   GetCertainty(status) == Certainty::kNotSent && call.detours < servers_.size() &&
                   loop_.Now() < call.deadline && !ClientCallBinding::IsCancelled(*call.context);
  if (!may || !Restart(call)) return false;
  ++call.detours;
  reroute_ = true;  // When what was learned of its server has been acted upon.
  Park(std::move(call));
  return true;
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

// A server is what the best of its connections is.
void ChannelLane::Report(ServerId id, const Server& server) {
  const auto any = [&server](ConnectivityState state) {
    return std::any_of(server.connections.begin(), server.connections.end(),
                       [state](const auto& connection) { return connection->connectivity() == state; });
  };
  if (any(ConnectivityState::kReady)) return ReportReady(id, server);
  if (any(ConnectivityState::kConnecting)) return balancer_->OnConnecting(id);
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
  }
  if (std::exchange(reroute_, false) && !waiting_->empty() && !std::exchange(rerouting_, true)) {
    loop_.Post([self = shared_from_this()] { self->RerouteWaiting(); });
  }
  settling_ = false;
  SetTimer();
}

absl::Status ChannelLane::WhyNoServer(const UserCall& call) {
  const PickResult pick = PickFor(call);
  const std::string why = pick.kind == PickResult::Kind::kFailed ? absl::StrCat(": ", pick.status.message()) : "";
  if (call.deadline <= loop_.Now()) {
    return absl::DeadlineExceededError(absl::StrCat("the call's deadline passed before there was a server", why));
  }
  return absl::UnavailableError(
      absl::StrCat("no server within ", absl::FormatDuration(options_->connect_timeout), why));
}

void ChannelLane::SetTimer() {
  absl::Time next = std::min(waiting_->NextDeadline(), retrying_->NextDeadline());
  if (balancer_ != nullptr) next = std::min(next, balancer_->NextDeadline());
  if (!shut_down_) timer_.SetBy(next);
}

void ChannelLane::OnTime() {
  const absl::Time due = loop_.Due();
  if (balancer_ != nullptr) balancer_->OnDeadline(due);
  waiting_->TakeExpired(due, [this](UserCall call) {
    absl::Status why = WhyNoServer(call);
    WaitingCalls::End(std::move(call), std::move(why));
  });
  retrying_->TakeExpired(due, [this](UserCall call) { Attempt(std::move(call)); });
  Settle();
  SetTimer();
}

void ChannelLane::Shutdown(absl::string_view reason) {
  if (std::exchange(shut_down_, true)) return;
  timer_.Cancel();
  health_ = nullptr;
  for (const auto& [id, server] : servers_) {
    for (const auto& connection : server->connections) connection->Shutdown(reason);
  }
  for (const auto& connection : leaving_) connection->Shutdown(reason);
  waiting_->EndAll(absl::CancelledError(reason));
  retrying_->EndAll(absl::CancelledError(reason));
  hedged_->EndAll(absl::CancelledError(reason));
  handle_->Detach();
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
