#include "rpc/channel_core.h"

#include <condition_variable>
#include <mutex>
#include <random>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "rpc/callback_scope.h"
#include "rpc/certainty.h"
#include "rpc/client_call_binding.h"
#include "rpc/completion_waiter.h"

namespace verbena::rpc {
namespace {

constexpr absl::string_view kDestroyed = "the channel was destroyed";

absl::Status CheckAddress(absl::string_view address) {
  absl::string_view rest = address;
  if (!absl::ConsumePrefix(&rest, "rdma://")) absl::ConsumePrefix(&rest, "soft://");
  const size_t colon = rest.rfind(':');
  int port = 0;
  if (colon == absl::string_view::npos || colon == 0 || !absl::SimpleAtoi(rest.substr(colon + 1), &port) || port < 1 ||
      port > 65535 || rest.find("://") != absl::string_view::npos) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", address,
                     "\" is no address: write host:port, rdma://host:port or soft://host:port, with a port from 1 to "
                     "65535"));
  }
  return absl::OkStatus();
}

absl::Status CheckOptions(const ChannelOptions& options) {
  if (options.loop == nullptr && options.loops < 1) {
    return absl::InvalidArgumentError("ChannelOptions::loops must be at least 1");
  }
  if (options.connections < 1) return absl::InvalidArgumentError("ChannelOptions::connections must be at least 1");
  if (options.calls_in_flight_max < 1) {
    return absl::InvalidArgumentError("ChannelOptions::calls_in_flight_max must be at least 1");
  }
  if (options.stream_window_bytes < kStreamWindowInitial) {
    return absl::InvalidArgumentError(
        absl::StrCat("ChannelOptions::stream_window_bytes must be at least ", kStreamWindowInitial));
  }
  if (options.connect_timeout < absl::ZeroDuration()) {
    return absl::InvalidArgumentError("ChannelOptions::connect_timeout is negative");
  }
  return absl::OkStatus();
}

absl::Status NotSent(absl::Status status) {
  SetCertainty(&status, Certainty::kNotSent);
  return status;
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

absl::StatusOr<std::unique_ptr<ChannelCore>> ChannelCore::Open(Network* network, absl::string_view address,
                                                               const ChannelOptions& options) {
  if (absl::Status checked = CheckAddress(address); !checked.ok()) return checked;
  if (absl::Status checked = CheckOptions(options); !checked.ok()) return checked;
  std::unique_ptr<ChannelCore> core(new ChannelCore(std::string(address), options));
  if (absl::Status started = core->StartLoops(network); !started.ok()) return started;
  core->AddConnections(network);
  core->OpenConnections();
  return core;
}

ChannelCore::ChannelCore(std::string address, const ChannelOptions& options)
    : address_(std::move(address)), options_(options) {
  const auto connections = static_cast<size_t>(std::max(options.connections, options.loops));
  lanes_.authentication = std::make_shared<AuthenticationThreads>(options.credentials, /*threads=*/1, connections);
}

absl::Status ChannelCore::StartLoops(Network* network) {
  if (options_.loop != nullptr) {
    lanes_.lanes.push_back(std::make_unique<Lane>(options_.loop));
    return absl::OkStatus();
  }
  const transport::EventLoopOptions event_loop{options_.wait, options_.poll_duration, options_.first_cpu};
  absl::StatusOr<std::unique_ptr<transport::EventLoopGroup>> group = network->StartLoops(options_.loops, event_loop);
  if (!group.ok()) return group.status();
  lanes_.event_loops = *std::move(group);
  for (size_t i = 0; i < lanes_.event_loops->size(); ++i) {
    lanes_.lanes.push_back(std::make_unique<Lane>(lanes_.event_loops->loop(i)));
  }
  return absl::OkStatus();
}

// Every lane has at least one.
void ChannelCore::AddConnections(Network* network) {
  std::random_device random;
  const size_t lanes = lanes_.lanes.size();
  const size_t count = std::max(lanes, static_cast<size_t>(options_.connections));
  for (size_t i = 0; i < count; ++i) {
    Lane& lane = *lanes_.lanes[i % lanes];
    const uint64_t seed = uint64_t{random()} << 32 | random();
    lane.connections.push_back(std::make_unique<ClientConnection>(network, address_, options_,
                                                                  lanes_.authentication->policy(), lane.loop, seed));
  }
}

void ChannelCore::OpenConnections() {
  for (const std::unique_ptr<Lane>& lane : lanes_.lanes) {
    lane->loop->Post([lane = lane.get()] {
      for (const auto& connection : lane->connections) connection->Open();
    });
  }
}

ChannelCore::Lane* ChannelCore::LaneOfThisThread() {
  for (const std::unique_ptr<Lane>& lane : lanes_.lanes) {
    if (lane->loop->InLoopThread()) return lane.get();
  }
  return nullptr;
}

ChannelCore::Lane& ChannelCore::NextLane() {
  if (lanes_.lanes.size() == 1) return *lanes_.lanes[0];
  return *lanes_.lanes[next_lane_.fetch_add(1, std::memory_order_relaxed) % lanes_.lanes.size()];
}

ClientConnection& ChannelCore::NextConnection(Lane& lane) {
  ClientConnection& connection = *lane.connections[lane.next];
  if (++lane.next == lane.connections.size()) lane.next = 0;
  return connection;
}

void ChannelCore::Start(UserCall call) {
  ClientCallBinding::FollowHandler(*call.context);
  if (Lane* lane = LaneOfThisThread()) {
    NextConnection(*lane).Start(std::move(call));
  } else {
    PostStart(NextLane(), std::move(call));
  }
}

void ChannelCore::StartStreaming(UserCall call, absl::FunctionRef<void(const std::shared_ptr<MessageStream>&)> take) {
  ClientCallBinding::FollowHandler(*call.context);
  Lane* const here = LaneOfThisThread();
  Lane& lane = here != nullptr ? *here : NextLane();
  call.stream = std::make_shared<MessageStream>(
      lane.handle, StreamOptions{options_.stream_window_bytes, options_.transport.message_bytes_max});
  take(call.stream);
  if (here != nullptr) {
    NextConnection(lane).Start(std::move(call));
  } else {
    PostStart(lane, std::move(call));
  }
}

void ChannelCore::PostStart(Lane& lane, UserCall call) {
  lane.loop->Post(
      [&lane, call = std::make_unique<UserCall>(std::move(call))] { NextConnection(lane).Start(std::move(*call)); });
}

absl::Status ChannelCore::CheckMayBlock() {
  if (CallbackScope::current() == nullptr && LaneOfThisThread() == nullptr) return absl::OkStatus();
  return NotSent(absl::FailedPreconditionError(
      "a blocking call on an event loop's thread would stop the loop: use the callback form, or a blocking handler"));
}

absl::Status ChannelCore::Block(UserCall call) {
  if (absl::Status checked = CheckMayBlock(); !checked.ok()) return checked;
  ClientCallBinding::FollowHandler(*call.context);
  BlockedCall blocked(std::move(call));
  Lane& lane = NextLane();
  // A pointer and a reference: no allocation.
  lane.loop->Post([&lane, &blocked] { NextConnection(lane).Start(blocked.Take()); });
  return DrivesTheLoop() ? Drive(lane, blocked) : blocked.Wait();
}

bool ChannelCore::DrivesTheLoop() const { return options_.loop != nullptr && std::this_thread::get_id() == creator_; }

absl::Status ChannelCore::Drive(Lane& lane, BlockedCall& call) {
  lane.loop->RunUntil([&call] { return call.done(); });
  if (call.done()) return call.Wait();
  // The user stopped the loop: nothing will ever run on it again.
  if (!call.started()) return NotSent(absl::CancelledError("the event loop was stopped"));
  for (const auto& connection : lane.connections) connection->Shutdown("the event loop was stopped");
  return call.Wait();
}

absl::Status ChannelCore::Await(CompletionWaiter& waiter) {
  if (!DrivesTheLoop()) return waiter.Wait();
  options_.loop->RunUntil([&waiter] { return waiter.done(); });
  if (waiter.done()) return waiter.Wait();
  // The user stopped the loop: nothing will ever run on it again.
  for (const auto& connection : lanes_.lanes[0]->connections) connection->Shutdown("the event loop was stopped");
  return waiter.done() ? waiter.Wait() : absl::CancelledError("the event loop was stopped");
}

std::string ChannelCore::DescribeState() const {
  std::string state = absl::StrCat(address_, ":");
  size_t number = 0;
  for (const std::unique_ptr<Lane>& lane : lanes_.lanes) {
    for (const auto& connection : lane->connections) {
      absl::StrAppend(&state, number == 0 ? " " : "; ", "[", number, "] ", connection->DescribeState());
      ++number;
    }
  }
  return state;
}

void ChannelCore::ShutDown(Lane& lane) {
  for (const auto& connection : lane.connections) connection->Shutdown(kDestroyed);
  lane.handle->Detach();
}

// Of loops with threads of their own. Not from one of those.
void ChannelCore::ShutDownAll(Lanes& lanes) {
  std::mutex mu;
  std::condition_variable changed;
  size_t left = lanes.lanes.size();
  for (const std::unique_ptr<Lane>& lane : lanes.lanes) {
    lane->loop->Post([&, lane = lane.get()] {
      ShutDown(*lane);
      const std::lock_guard lock(mu);
      if (--left == 0) changed.notify_one();
    });
  }
  std::unique_lock lock(mu);
  changed.wait(lock, [&left] { return left == 0; });
  lanes.authentication->Shutdown();
}

// Of the loop that the user owns, on its thread or while nobody drives it.
void ChannelCore::ShutDownOwned(Lanes& lanes) {
  ShutDown(*lanes.lanes[0]);
  lanes.authentication->Shutdown();
}

ChannelCore::~ChannelCore() {
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
    // A loop's thread cannot wait for itself.
    std::thread([lanes = std::move(lanes_)]() mutable { ShutDownAll(lanes); }).detach();
  } else {
    ShutDownAll(lanes_);
  }
}

}  // namespace verbena::rpc
