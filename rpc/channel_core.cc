#include "rpc/channel_core.h"

#include <condition_variable>
#include <mutex>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "rpc/certainty.h"
#include "rpc/client_call_binding.h"
#include "rpc/completion_waiter.h"
#include "rpc/executor/callback_scope.h"
#include "transport/log.h"
#include "transport/start_thread.h"

namespace verbena::rpc {
namespace {

// At the same time, to servers of which it is not known how many there will be.
constexpr size_t kAuthenticationsMax = 4096;

constexpr int kConnectionsMax = 65536;  // To each server.

constexpr absl::string_view kDestroyed = "the channel was destroyed";

// Of ChannelOptions::retries and hedging: a path of HTTP/2 begins with a slash, a call's name does not.
absl::Status CheckCallsName(absl::string_view name) {
  const size_t slash = name.find('/');
  const bool has_parts = slash > 0 && slash + 1 < name.size() && name.find('/', slash + 1) == name.npos;
  if (slash == name.npos || has_parts) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("ChannelOptions::retries and hedging: no call is named \"", name,
                   "\"; write \"package.Service/Method\", \"package.Service\" for all of a service, or \"\" for all"));
}

absl::Status CheckPolicies(const ChannelOptions& options) {
  if (absl::Status checked = CheckRetryBudget(options.retry_budget); !checked.ok()) return checked;
  for (const auto& [name, policy] : options.retries) {
    if (absl::Status checked = CheckCallsName(name); !checked.ok()) return checked;
    if (absl::Status checked = CheckRetryPolicy(policy); !checked.ok()) return checked;
  }
  for (const auto& [name, policy] : options.hedging) {
    if (absl::Status checked = CheckCallsName(name); !checked.ok()) return checked;
    if (absl::Status checked = CheckHedgingPolicy(policy); !checked.ok()) return checked;
    if (options.retries.contains(name)) {
      return absl::InvalidArgumentError(
          absl::StrCat("ChannelOptions::retries and hedging both name \"", name, "\": a call is one or the other"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckOptions(const ChannelOptions& options) {
  if (options.loop == nullptr && options.loops < 1) {
    return absl::InvalidArgumentError("ChannelOptions::loops must be at least 1");
  }
  if (options.connections < 1 || options.connections > kConnectionsMax) {
    return absl::InvalidArgumentError(absl::StrCat("ChannelOptions::connections must be 1 to ", kConnectionsMax));
  }
  if (options.calls_in_flight_max < 1) {
    return absl::InvalidArgumentError("ChannelOptions::calls_in_flight_max must be at least 1");
  }
  const absl::Status window = CheckStreamWindow("ChannelOptions", options.stream_window_bytes);
  if (!window.ok()) return window;
  if (absl::Status checked = CheckPolicies(options); !checked.ok()) return checked;
  if (absl::Status checked = CheckOptions(options.balancing); !checked.ok()) return checked;
  for (const auto& make : options.interceptors) {
    if (make == nullptr) return absl::InvalidArgumentError("ChannelOptions::interceptors has a maker that is null");
  }
  if (options.health_check_service.has_value() && options.balancing.policy == PolicyKind::kPickFirst) {
    return absl::InvalidArgumentError(
        "ChannelOptions::health_check_service is not for pick_first, which leaves a server only when it is gone");
  }
  if (options.idle_timeout <= absl::ZeroDuration() || options.default_timeout <= absl::ZeroDuration()) {
    return absl::InvalidArgumentError("ChannelOptions::idle_timeout and default_timeout must be positive");
  }
  if (options.connect_timeout < absl::ZeroDuration()) {
    return absl::InvalidArgumentError("ChannelOptions::connect_timeout is negative");
  }
  return absl::OkStatus();
}

// Runs what was posted until now. Not within a call-back: of this loop, which runs that by itself then, or of another
// channel's end, whose connections are not to be touched in the midst of it.
void RunPosted(EventLoop& loop) {
  if (loop.InLoopThread() || CallbackScope::current() != nullptr) return;
  const auto ran = std::make_shared<bool>(false);  // A loop that its user has stopped keeps the task, and runs nothing.
  loop.Post([ran] { *ran = true; });
  loop.RunUntil([&ran] { return *ran; });
}

}  // namespace

// A call whose caller waits, on his own stack.
class ChannelCore::BlockedCall : public CompletionWaiter {
 public:
  explicit BlockedCall(UserCall call) : call_(std::move(call)) {
    call_.done = [this](absl::Status status) { Complete(std::move(status)); };
  }
  UserCall Take() {
    started_ = true;
    return std::move(call_);
  }
  bool started() const { return started_; }  // The loop's thread.

 private:
  UserCall call_;
  bool started_ = false;
};

absl::StatusOr<std::unique_ptr<ChannelCore>> ChannelCore::Open(Network* network, absl::string_view target,
                                                               const ChannelOptions& options) {
  if (absl::Status checked = CheckOptions(options); !checked.ok()) return checked;
  if (absl::Status checked = ServerNames::Check(target); !checked.ok()) return checked;
  std::unique_ptr<ChannelCore> core(new ChannelCore(std::string(target), options));
  if (absl::Status started = core->lanes_.authentication->status(); !started.ok()) return started;
  const absl::StatusOr<std::vector<transport::EventLoop*>> loops = core->StartLoops(network);
  if (!loops.ok()) return loops.status();
  if (absl::Status made = core->MakeLanes(network, *loops); !made.ok()) return made;
  core->OnEachLane(&ChannelLane::Open);
  if (absl::Status started = core->StartNames(network); !started.ok()) return started;
  return core;
}

ChannelCore::ChannelCore(std::string target, const ChannelOptions& options)
    : target_(std::move(target)), options_(options) {
  const size_t connections = ServerNames::NamesMany(target_)
                                 ? kAuthenticationsMax
                                 : static_cast<size_t>(std::max(options.connections, options.loops));
  lanes_.authentication = std::make_shared<AuthenticationThreads>(options.credentials, /*threads=*/1, connections);
}

absl::StatusOr<std::vector<transport::EventLoop*>> ChannelCore::StartLoops(Network* network) {
  if (options_.loop != nullptr) return std::vector<transport::EventLoop*>{options_.loop};
  const transport::EventLoopOptions event_loop{options_.wait, options_.poll_duration, options_.first_cpu};
  absl::StatusOr<std::unique_ptr<transport::EventLoopGroup>> group = network->StartLoops(options_.loops, event_loop);
  if (!group.ok()) return group.status();
  lanes_.event_loops = *std::move(group);
  std::vector<transport::EventLoop*> loops;
  for (size_t i = 0; i < lanes_.event_loops->size(); ++i) loops.push_back(lanes_.event_loops->loop(i));
  return loops;
}

// Every lane has at least one connection to each server.
absl::Status ChannelCore::MakeLanes(Network* network, const std::vector<transport::EventLoop*>& loops) {
  BalancerOptions balancing = options_.balancing;
  if (balancing.seed == 0) balancing.seed = network->RandomSeed();
  const size_t count = std::max(loops.size(), static_cast<size_t>(options_.connections));
  for (size_t i = 0; i < loops.size(); ++i) {
    const ChannelLane::Options lane{count / loops.size() + (i < count % loops.size() ? 1 : 0), network->RandomSeed(),
                                    lanes_.authentication->policy()};
    if (!ServerNames::NamesMany(target_)) {
      lanes_.lanes.push_back(ChannelLane::WithServer(network, target_, options_, loops[i], board_, lane));
      continue;
    }
    absl::StatusOr<std::unique_ptr<Balancer>> balancer = Balancer::Create(balancing);
    if (!balancer.ok()) return balancer.status();
    lanes_.lanes.push_back(ChannelLane::WithBalancer(
        network, *std::move(balancer), [names = names_] { names->Refresh(); }, options_, loops[i], board_, lane));
  }
  return absl::OkStatus();
}

absl::Status ChannelCore::StartNames(Network* network) {
  if (!ServerNames::NamesMany(target_)) return absl::OkStatus();
  NameSourceOptions names = options_.names;
  if (names.seed == 0) names.seed = network->RandomSeed();
  return names_->Start(target_, names, [lanes = lanes_.lanes, target = target_](auto list) {
    // Where an older list holds, nobody would notice.
    if (!list.ok()) {
      Log(Severity::kWarning, absl::StrCat("channel to ", target, ": its list of servers: ", list.status().ToString()));
    }
    for (const Lane& lane : lanes) {
      transport::LoopHandle::Task tell = [lane, list] { lane->OnList(list); };
      lane->handle()->Post(tell);
    }
  });
}

void ChannelCore::OnEachLane(void (ChannelLane::*what)()) {
  for (const Lane& lane : lanes_.lanes) {
    lane->loop().Post([lane, what] { (*lane.*what)(); });
  }
}

const ChannelCore::Lane* ChannelCore::LaneOfThisThread() {
  for (const Lane& lane : lanes_.lanes) {
    if (lane->loop().InLoopThread()) return &lane;
  }
  return nullptr;
}

const ChannelCore::Lane& ChannelCore::NextLane() {
  if (lanes_.lanes.size() == 1) return lanes_.lanes[0];
  return lanes_.lanes[next_lane_.fetch_add(1, std::memory_order_relaxed) % lanes_.lanes.size()];
}

void ChannelCore::Start(UserCall&& call) {
  ClientCallBinding::FollowHandler(*call.context);
  if (const Lane* lane = LaneOfThisThread()) {
    (*lane)->Start(std::move(call));
  } else {
    NextLane()->StartLater(std::move(call));
  }
}

void ChannelCore::StartStreaming(UserCall call, absl::FunctionRef<void(const std::shared_ptr<MessageStream>&)> take) {
  ClientCallBinding::FollowHandler(*call.context);
  const Lane* const here = LaneOfThisThread();
  const Lane& lane = here != nullptr ? *here : NextLane();
  call.stream = std::make_shared<MessageStream>(
      lane->handle(), StreamOptions{options_.stream_window_bytes, options_.transport.message_bytes_max});
  take(call.stream);
  if (here != nullptr) {
    lane->Start(std::move(call));
  } else {
    lane->StartLater(std::move(call));
  }
}

absl::Status ChannelCore::CheckMayBlock() {
  if (CallbackScope::current() == nullptr && LaneOfThisThread() == nullptr) return absl::OkStatus();
  return WithCertainty(
      absl::FailedPreconditionError("a blocking call on an event loop's thread would stop the loop: use the callback "
                                    "form, or a blocking handler"),
      Certainty::kNotSent);
}

absl::Status ChannelCore::Block(UserCall call) {
  if (absl::Status checked = CheckMayBlock(); !checked.ok()) return checked;
  ClientCallBinding::FollowHandler(*call.context);
  BlockedCall blocked(std::move(call));
  const Lane& lane = NextLane();
  // Two pointers: no allocation.
  lane->loop().Post([lane = lane.get(), &blocked] { lane->Start(blocked.Take()); });
  return DrivesTheLoop() ? Drive(lane, blocked) : blocked.Wait();
}

bool ChannelCore::DrivesTheLoop() const { return options_.loop != nullptr && std::this_thread::get_id() == creator_; }

absl::Status ChannelCore::Drive(const Lane& lane, BlockedCall& call) {
  lane->loop().RunUntil([&call] { return call.done(); });
  if (call.done()) return call.Wait();
  // The user stopped the loop: nothing will ever run on it again.
  if (!call.started()) return WithCertainty(absl::CancelledError("the event loop was stopped"), Certainty::kNotSent);
  lane->Shutdown("the event loop was stopped");
  return call.done() ? call.Wait() : absl::CancelledError("the event loop was stopped");
}

absl::Status ChannelCore::Await(CompletionWaiter& waiter) {
  if (!DrivesTheLoop()) return waiter.Wait();
  options_.loop->RunUntil([&waiter] { return waiter.done(); });
  if (waiter.done()) return waiter.Wait();
  // The user stopped the loop: nothing will ever run on it again.
  lanes_.lanes[0]->Shutdown("the event loop was stopped");
  return waiter.done() ? waiter.Wait() : absl::CancelledError("the event loop was stopped");
}

bool ChannelCore::WaitUntilReady(absl::Duration timeout) {
  Connect();
  if (!DrivesTheLoop()) return board_->WaitUntilReady(timeout);
  EventLoop& loop = *options_.loop;
  const auto is_ready = [this] { return board_->state() == ConnectivityState::kReady; };
  if (loop.InLoopThread()) return is_ready();  // Within a call-back nothing happens while that waits.
  bool is_over = false;
  transport::TimerId timer = 0;
  if (timeout < absl::InfiniteDuration()) {
    timer = loop.AddTimer(loop.ReadNow() + timeout, [&is_over] { is_over = true; });  // It may not have run for long.
  }
  loop.RunUntil([&] { return is_over || is_ready(); });
  loop.CancelTimer(timer);
  return is_ready();
}

std::string ChannelCore::DescribeState() const {
  std::string state = absl::StrCat(target_, ":");
  size_t number = 0;
  for (const Lane& lane : lanes_.lanes) {
    for (const std::string& connection : lane->DescribeConnections()) {
      absl::StrAppend(&state, number == 0 ? " " : "; ", "[", number, "] ", connection);
      ++number;
    }
  }
  return state;
}

// Of loops with threads of their own. Not from one of those.
void ChannelCore::ShutDownAll(Lanes& lanes) {
  std::mutex mu;
  std::condition_variable changed;
  size_t left = lanes.lanes.size();
  for (const Lane& lane : lanes.lanes) {
    lane->loop().Post([&, lane = lane.get()] {
      lane->Shutdown(kDestroyed);
      // Behind what was posted until then: ends of calls, operations of streams.
      lane->loop().Post([&] {
        const std::lock_guard lock(mu);
        if (--left == 0) changed.notify_one();
      });
    });
  }
  std::unique_lock lock(mu);
  changed.wait(lock, [&left] { return left == 0; });
  lanes.authentication->Shutdown();
}

// Of the loop that the user owns, on its thread or while nobody drives it. Then what it was given runs in here: the
// start of calls that were just made, and operations of streams.
void ChannelCore::ShutDownOwned(Lanes& lanes) {
  EventLoop& loop = lanes.lanes[0]->loop();
  lanes.lanes[0]->Shutdown(kDestroyed);
  lanes.authentication->Shutdown();
  RunPosted(loop);
  RunPosted(loop);  // What that has posted: the ends of those calls.
}

// A loop's thread cannot wait for itself. Without another for it the lanes stay: there is nobody to wait for their end.
void ChannelCore::ShutDownElsewhere(Lanes&& lanes) {
  auto* const ending = new Lanes(std::move(lanes));
  absl::StatusOr<std::thread> thread = StartThread("ending a channel", [ending] {
    ShutDownAll(*ending);
    delete ending;
  });
  if (!thread.ok()) return Log(Severity::kError, thread.status().message());
  thread->detach();
}

ChannelCore::~ChannelCore() {
  names_->Stop();
  board_->SetCallback(nullptr);
  if (lanes_.lanes.empty()) return;
  const bool on_loop = LaneOfThisThread() != nullptr;
  if (options_.loop != nullptr) {
    if (!on_loop) {
      ShutDownOwned(lanes_);
      return;
    }
    // Within a call-back, perhaps of one of these connections: after it.
    options_.loop->Post([lanes = std::move(lanes_)]() mutable { ShutDownOwned(lanes); });
  } else if (on_loop) {
    ShutDownElsewhere(std::move(lanes_));
  } else {
    ShutDownAll(lanes_);
  }
}

}  // namespace verbena::rpc
