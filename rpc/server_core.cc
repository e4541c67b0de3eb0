#include "rpc/server_core.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/run_catching.h"
#include "rpc/executor/cooperative_thread.h"
#include "transport/log.h"
#include "transport/run_logging.h"

namespace verbena::rpc {
namespace {

// For an authenticator that may block.
constexpr int kAuthenticationThreads = 4;

// What may wait for them. The listener refuses a limit that it does not take; but this is made before it listens.
uint32_t AuthenticationsMax(const transport::TransportOptions& options) {
  return std::clamp(options.unauthenticated_connections_max, 1u, transport::kUnauthenticatedConnectionsMax);
}

absl::Status CheckOptions(const ServerOptions& options, const std::vector<std::string>& addresses) {
  if (addresses.empty()) return absl::InvalidArgumentError("the server has no address to listen on");
  if (options.loops < 1) return absl::InvalidArgumentError("ServerOptions::loops must be at least 1");
  if (options.executor_threads < 1) {
    return absl::InvalidArgumentError("ServerOptions::executor_threads must be at least 1");
  }
  if (options.executor_queue_max < 1) {
    return absl::InvalidArgumentError("ServerOptions::executor_queue_max must be at least 1");
  }
  if (options.executor_queue_time_max <= absl::ZeroDuration() ||
      options.executor_queue_time_target <= absl::ZeroDuration()) {
    return absl::InvalidArgumentError("ServerOptions: the limits of time in the executor's queue must be above zero");
  }
  for (const auto& make : options.interceptors) {
    if (make == nullptr) return absl::InvalidArgumentError("ServerOptions::interceptors has a maker that is null");
  }
  const absl::Status window = CheckStreamWindow("ServerOptions", options.stream_window_bytes);
  if (!window.ok()) return window;
  if (options.calls_in_flight_per_connection_max < 1 || options.calls_in_flight_max < 1) {
    return absl::InvalidArgumentError("ServerOptions: the limits of calls in flight must be at least 1");
  }
  return absl::OkStatus();
}

absl::Status TellOfStart(const std::vector<Service*>& services) {
  std::vector<std::string> names;
  for (const Service* service : services) names.push_back(service->full_name());
  for (Service* service : services) {
    const absl::Status told = RunCatching(absl::StrCat(service->full_name(), "::OnServerStart"), [service, &names] {
      service->OnServerStart(names);
      return absl::OkStatus();
    });
    if (!told.ok()) return told;
  }
  return absl::OkStatus();
}

void TellOfDrain(const std::vector<Service*>& services) {
  for (Service* service : services) {
    RunLogging(absl::StrCat("the server drains all the same: ", service->full_name(), "::OnServerDrain"),
               [service] { service->OnServerDrain(); });
  }
}

// How many loops have yet to finish something.
class Countdown {
 public:
  explicit Countdown(size_t count) : count_(count) {}
  void CountDown() {
    const std::lock_guard lock(mu_);
    if (--count_ == 0) over_.notify_all();
  }
  // Time is up: who waits goes on.
  void Expire() {
    const std::lock_guard lock(mu_);
    expired_ = true;
    over_.notify_all();
  }
  // False: it expired first.
  bool Wait() {
    if (CooperativeThread* thread = CooperativeThread::current()) thread->YieldUntil([this] { return IsOver(); });
    std::unique_lock lock(mu_);
    over_.wait(lock, [this] { return count_ == 0 || expired_; });
    return count_ == 0;
  }

 private:
  bool IsOver() {
    const std::lock_guard lock(mu_);
    return count_ == 0 || expired_;
  }

  std::mutex mu_;
  std::condition_variable over_;
  size_t count_ ABSL_GUARDED_BY(mu_);
  bool expired_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ServerCore>> ServerCore::Start(Network* network, const ServerOptions& options,
                                                              const std::vector<std::string>& addresses,
                                                              const std::vector<Service*>& services,
                                                              const ServerAccess& access) {
  if (absl::Status checked = CheckOptions(options, addresses); !checked.ok()) return checked;
  absl::StatusOr<std::unique_ptr<MethodRegistry>> methods = MethodRegistry::Create(services);
  if (!methods.ok()) return methods.status();
  std::unique_ptr<ServerCore> core(new ServerCore(options, *std::move(methods), access, network));
  if (absl::Status started = core->authentication_.status(); !started.ok()) return started;
  if (core->handlers_ != nullptr) {
    if (absl::Status started = core->handlers_->status(); !started.ok()) return started;
  }
  if (absl::Status started = core->StartLoops(network); !started.ok()) return started;
  if (absl::Status told = TellOfStart(services); !told.ok()) return told;
  if (absl::Status listening = core->Listen(network, addresses); !listening.ok()) return listening;
  core->services_ = services;
  core->LogStart();
  return core;
}

ServerCore::ServerCore(const ServerOptions& options, std::unique_ptr<MethodRegistry> methods,
                       const ServerAccess& access, Network* network)
    : options_(options),
      methods_(std::move(methods)),
      access_{access.authorizer, {}},
      authentication_(access.authenticator, kAuthenticationThreads, AuthenticationsMax(options.transport)) {
  if (methods_->has_blocking_methods()) {
    handlers_ = std::make_unique<HandlerQueue>(
        [network](int threads, Executor::Work work) { return network->StartExecutor(threads, std::move(work)); },
        options_.executor_threads,
        CallQueueOptions{options_.executor_queue_max, options_.executor_queue_time_max,
                         options_.executor_queue_time_target},
        [network] { return network->SteadyNow(); });
  }
}

absl::Status ServerCore::StartLoops(Network* network) {
  const transport::EventLoopOptions event_loop{options_.wait, options_.poll_duration, options_.first_cpu};
  absl::StatusOr<std::unique_ptr<transport::EventLoopGroup>> group = network->StartLoops(options_.loops, event_loop);
  if (!group.ok()) return group.status();
  event_loops_ = *std::move(group);
  const ServerSessionOptions session{options_.calls_in_flight_per_connection_max, options_.transport.message_bytes_max};
  const StreamOptions stream{options_.stream_window_bytes, options_.transport.message_bytes_max};
  const uint32_t loops = static_cast<uint32_t>(event_loops_->size());
  const uint32_t calls_max = options_.calls_in_flight_max / loops + (options_.calls_in_flight_max % loops != 0);
  for (uint32_t i = 0; i < loops; ++i) {
    loops_.push_back(std::make_unique<ServerLoop>(event_loops_->loop(i), methods_.get(), handlers_.get(), session,
                                                  stream, calls_max, &access_,
                                                  options_.interceptors.empty() ? nullptr : &options_.interceptors));
  }
  return absl::OkStatus();
}

absl::Status ServerCore::Listen(Network* network, const std::vector<std::string>& addresses) {
  std::vector<transport::EventLoop*> event_loops;
  for (const auto& loop : loops_) event_loops.push_back(&loop->event_loop());
  const auto accept = [this](std::unique_ptr<transport::Connection> connection) {
    for (const auto& loop : loops_) {
      if (&loop->event_loop() == connection->loop()) return loop->Accept(std::move(connection));
    }
  };
  for (const std::string& address : addresses) {
    auto listener = network->Listen(address, options_.transport, event_loops, accept, authentication_.policy());
    if (!listener.ok()) {
      return absl::Status(listener.status().code(),
                          absl::StrCat("cannot listen on ", address, ": ", listener.status().message()));
    }
    for (const std::string& real : (*listener)->addresses()) addresses_.push_back(real);
    listeners_.push_back(*std::move(listener));
  }
  return absl::OkStatus();
}

void ServerCore::LogStart() const {
  Log(Severity::kInfo, absl::StrCat("server listens on ", absl::StrJoin(addresses_, ", "), " (", methods_->size(),
                                    methods_->size() == 1 ? " method, " : " methods, ", loops_.size(),
                                    loops_.size() == 1 ? " event loop)" : " event loops)"));
}

ServerCore::~ServerCore() {
  Shutdown(absl::InfinitePast());
  authentication_.Shutdown();
  OnEveryLoop([](ServerLoop& loop) { loop.StartEnd(); });
  // Blocking handlers end here; their calls still find their way back. So do coroutines. Then nothing does.
  if (handlers_ != nullptr) handlers_->Shutdown();
  AwaitCoroutines();
  OnEveryLoop([](ServerLoop& loop) { loop.Shut(); });
  OnEveryLoop([](ServerLoop&) {});  // Behind what was posted until then: ends of streams' operations.
}

void ServerCore::OnEveryLoop(absl::FunctionRef<void(ServerLoop&)> task) {
  Countdown done(loops_.size());
  for (const auto& loop : loops_) {
    loop->event_loop().Post([&task, &done, loop = loop.get()] {
      task(*loop);
      done.CountDown();
    });
  }
  done.Wait();
}

void ServerCore::AwaitCoroutines() {
  Countdown returned(loops_.size());
  OnEveryLoop([&returned](ServerLoop& loop) { loop.AwaitCoroutines([&returned] { returned.CountDown(); }); });
  returned.Wait();
}

void ServerCore::Wait() {
  std::unique_lock lock(mu_);
  changed_.wait(lock, [this] { return phase_ == Phase::kShutDown; });
}

void ServerCore::Shutdown(absl::Time deadline) {
  {
    std::unique_lock lock(mu_);
    if (phase_ != Phase::kServing) {
      changed_.wait(lock, [this] { return phase_ == Phase::kShutDown; });
      return;
    }
    phase_ = Phase::kShuttingDown;
  }
  TellOfDrain(services_);
  CloseListeners();
  if (deadline == absl::InfinitePast() || !DrainLoops(deadline)) {
    OnEveryLoop([](ServerLoop& loop) { loop.Abort(); });
  }
  const std::lock_guard lock(mu_);
  phase_ = Phase::kShutDown;
  changed_.notify_all();
}

void ServerCore::CloseListeners() {
  for (const auto& listener : listeners_) listener->Close();
  listeners_.clear();  // Blocks until no connection is being accepted.
}

bool ServerCore::DrainLoops(absl::Time deadline) {
  const auto loops_left = std::make_shared<Countdown>(loops_.size());
  OnEveryLoop([&loops_left](ServerLoop& loop) { loop.Drain([loops_left] { loops_left->CountDown(); }); });
  // On a loop's clock: who waits may have no other.
  if (deadline != absl::InfiniteFuture()) {
    loops_[0]->event_loop().Post([loops_left, deadline, &loop = loops_[0]->event_loop()] {
      const absl::Time now = loop.ReadNow();  // And with it the wall clock.
      loop.AddTimer(now + (deadline - loop.WallNow()), [loops_left] { loops_left->Expire(); });
    });
  }
  return loops_left->Wait();
}

void ServerCore::SetLoad(double load) {
  for (const auto& loop : loops_) loop->SetLoad(load);
}

ServerCounters ServerCore::counters() {
  std::mutex mu;
  ServerCounters counters;
  OnEveryLoop([&](ServerLoop& loop) {
    const std::lock_guard lock(mu);
    counters.connections += loop.connections();
    counters.calls_in_flight += loop.tally().calls();
    counters.calls_accepted += loop.tally().accepted;
    counters.calls_refused += loop.tally().refused;
    counters.calls_dropped += loop.tally().dropped;
    counters.load = std::max(counters.load, loop.MeasureLoad(loop.event_loop().Now()));
  });
  return counters;
}

}  // namespace verbena::rpc
