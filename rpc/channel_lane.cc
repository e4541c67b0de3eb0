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
  constexpr ServerId kOnlyServer = ServerId{0};
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
  // Once pushed the call may end, and the channel go. Not const: the closure's copy would be const as well, and is
  // copied where the closure is moved then.
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
  if (!Route(std::move(call))) ConnectWanted();
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
  if (some_wait) ConnectWanted();
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

}  // namespace verbena::rpc
