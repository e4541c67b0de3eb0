#include "tests/faults/workload.h"

#include <array>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "rpc/certainty.h"
#include "rpc/channel.h"
#include "rpc/client_context.h"
#include "rpc/server.h"
#include "rpc/server_context.h"
#include "tests/integration/held.h"
#include "tests/integration/probe_call.h"
#include "tests/integration/probe_service.h"
#include "transport/endpoint.h"

namespace verbena::faults {
namespace {

constexpr size_t kCalls = 120;
constexpr size_t kCallsAtOnce = 12;
constexpr uint64_t kConnectionsMax = 4;
constexpr uint32_t kQueuePairs = 2 * kConnectionsMax;
constexpr uint32_t kFaultsPerQueuePair = 3;
constexpr uint32_t kOperationsBefallen = 60;  // Of each.
constexpr size_t kLargeBytesMax = 300'000;
constexpr uint64_t kFetchBytes = 2000;        // Times the number of the call: no two ask for the same.
constexpr int64_t kHoldMilliseconds = 60000;  // And the number of the call: longer than any deadline.
constexpr absl::Duration kTimeoutMin = absl::Milliseconds(100);
constexpr absl::Duration kTimeoutMax = absl::Milliseconds(1500);
constexpr absl::Duration kLateness = absl::Seconds(10);  // Of a machine that is busy with other tests.
constexpr absl::Duration kRecovery = absl::Seconds(20);

// Short times, so that what a fault left hanging is found within the run.
TransportOptions Transport(uint64_t seed) {
  TransportOptions options;
  constexpr std::array<uint8_t, 3> kRetries = {0, 6, 7};  // None, some, and for ever.
  options.rnr_retry_count = kRetries[seed % kRetries.size()];
  options.handshake_timeout = absl::Milliseconds(500);
  options.keepalive_interval = absl::Milliseconds(200);
  options.keepalive_timeout = absl::Milliseconds(300);
  options.drain_timeout = absl::Seconds(1);
  return options;
}

// Remembers whose handlers ran: a request says the number of its call.
class CountingService : public probe::ProbeService {
 public:
  absl::Status Echo(ServerContext* context, const probe::EchoRequest* request, probe::EchoReply* reply) override {
    Remember(std::strtoull(request->body().c_str(), nullptr, 10));
    return ProbeService::Echo(context, request, reply);
  }
  absl::Status Fetch(ServerContext* context, const probe::FetchRequest* request, probe::FetchReply* reply) override {
    Remember(request->bytes() / kFetchBytes);
    return ProbeService::Fetch(context, request, reply);
  }
  absl::Status Hold(ServerContext* context, const probe::HoldRequest* request, probe::HoldReply* reply) override {
    Remember(static_cast<uint64_t>(request->milliseconds() - kHoldMilliseconds));
    return ProbeService::Hold(context, request, reply);
  }

  bool Ran(uint64_t number) {
    const std::lock_guard lock(mu_);
    return ran_.contains(number);
  }

 private:
  void Remember(uint64_t number) {
    const std::lock_guard lock(mu_);
    ran_.insert(number);
  }

  std::mutex mu_;
  std::set<uint64_t> ran_ ABSL_GUARDED_BY(mu_);
};

enum class CallKind : uint8_t {
  kSmall,  // An echo of a few bytes,
  kLarge,  // of many both ways,
  kFetch,  // many bytes one way,
  kHeld,   // one that its deadline or a cancel ends.
};
constexpr std::array kKinds = {CallKind::kSmall, CallKind::kSmall, CallKind::kSmall, CallKind::kSmall,
                               CallKind::kLarge, CallKind::kLarge, CallKind::kFetch, CallKind::kHeld};

// One call, and what came of it.
struct Call : probe::ProbeCall {
  uint64_t number;  // From 1.
  CallKind kind;
  std::string attachment;  // What must come back.
  absl::Time deadline;

  bool HasItsReply() const { return context.attachment() == attachment && echo_reply.body() == echo_request.body(); }
};

class Run {
 public:
  explicit Run(uint64_t seed) : seed_(seed), random_(seed) {}

  // Each stops at the first thing that does not hold.
  std::optional<std::string> Whole() {
    if (auto failure = Open()) return failure;
    if (auto failure = MakeCalls()) return failure;
    if (auto failure = JudgeCalls()) return failure;
    if (auto failure = Recover()) return failure;
    return Close();
  }

 private:
  std::optional<std::string> Open() {
    ServerOptions options;
    options.transport = Transport(seed_);
    options.wait = seed_ % 4 < 2 ? WaitPolicy::kEvent : WaitPolicy::kAdaptive;
    Server::Builder builder;
    builder.AddListeningAddress("soft://127.0.0.1:0").SetOptions(options).RegisterService(&service_);
    absl::StatusOr<std::unique_ptr<Server>> server = builder.Build();
    if (!server.ok()) return absl::StrCat("the server does not start: ", server.status().ToString());
    server_ = *std::move(server);
    ChannelOptions channel_options;
    channel_options.transport = Transport(seed_);
    channel_options.wait = options.wait;
    channel_options.connections = 1 + static_cast<int>(seed_ % kConnectionsMax);
    absl::StatusOr<std::shared_ptr<Channel>> channel = Channel::Create(server_->addresses().front(), channel_options);
    if (!channel.ok()) return absl::StrCat("the channel does not start: ", channel.status().ToString());
    channel_ = *std::move(channel);
    stub_.emplace(channel_);
    return std::nullopt;
  }

  // kCalls of them, kCallsAtOnce in flight.
  std::optional<std::string> MakeCalls() {
    for (size_t i = 0; i < kCalls; ++i) {
      if (!WaitUntil([&] { return begun_ - completed_ < kCallsAtOnce; })) return "no call completes any more";
      Begin();
      if (random_() % 16 == 0) calls_[random_() % calls_.size()].context.TryCancel();
    }
    if (!WaitUntil([&] { return begun_ == completed_; })) {
      return absl::StrCat(begun_ - completed_, " calls did not complete ", absl::FormatDuration(kLateness),
                          " past the last deadline");
    }
    return std::nullopt;
  }

  void Begin() {
    Call& call = calls_.emplace_back();
    call.number = calls_.size();
    call.kind = kKinds[random_() % kKinds.size()];
    const absl::Duration most = call.kind == CallKind::kHeld ? kTimeoutMin : kTimeoutMax;
    const absl::Duration timeout = kTimeoutMin + (most - kTimeoutMin) * (double(random_() % 100) / 100);
    call.context.set_timeout(timeout);
    call.deadline = absl::Now() + timeout;
    {
      const std::lock_guard lock(mu_);
      ++begun_;
    }
    Start(call, [this, &call](absl::Status status) {
      const std::lock_guard lock(mu_);
      if (call.Complete(std::move(status))) ++completed_;
      lateness_max_ = std::max(lateness_max_, absl::Now() - call.deadline);
      changed_.notify_all();
    });
  }

  void Start(Call& call, Call::Done done) {
    switch (call.kind) {
      case CallKind::kLarge:
        call.attachment.assign(random_() % kLargeBytesMax, static_cast<char>('a' + random_() % 26));
        call.context.set_attachment(absl::Cord(call.attachment));
        [[fallthrough]];
      case CallKind::kSmall:
        call.echo_request.set_body(absl::StrCat(call.number));
        return call.StartEcho(*stub_, std::move(done));
      case CallKind::kFetch:
        call.attachment.assign(call.number * kFetchBytes, probe::kFetchedByte);
        call.fetch_request.set_bytes(call.attachment.size());
        return call.StartFetch(*stub_, std::move(done));
      case CallKind::kHeld:
        call.hold_request.set_milliseconds(kHoldMilliseconds + static_cast<int64_t>(call.number));
        return call.StartHold(*stub_, std::move(done));
    }
  }

  bool WaitUntil(const std::function<bool()>& condition) {
    std::unique_lock lock(mu_);
    return changed_.wait_for(lock, absl::ToChronoMilliseconds(kTimeoutMax + kLateness), condition);
  }

  std::optional<std::string> JudgeCalls() {
    const std::lock_guard lock(mu_);
    if (lateness_max_ > kLateness) {
      return absl::StrCat("a call completed ", absl::FormatDuration(lateness_max_), " after its deadline");
    }
    for (const Call& call : calls_) {
      if (call.completions != 1) return absl::StrCat("call ", call.number, " completed ", call.completions, " times");
      if (call.status.ok() && !call.HasItsReply()) {
        return absl::StrCat("call ", call.number, " got the reply of another, or wrong bytes");
      }
      if (GetCertainty(call.status) == Certainty::kNotSent && service_.Ran(call.number)) {
        return absl::StrCat("call ", call.number, " was run and reported as not sent: ", call.status.ToString());
      }
    }
    return std::nullopt;
  }

  // With the faults of the process over; queue pairs that were made before still have theirs.
  std::optional<std::string> Recover() {
    soft::PlanFaultsOfProcess({});
    const absl::Time give_up = absl::Now() + kRecovery;
    absl::Status status;
    do {
      ClientContext context;
      context.set_timeout(absl::Seconds(2));
      probe::EchoRequest request;
      probe::EchoReply reply;
      status = stub_->Echo(&context, request, &reply);
    } while (!status.ok() && absl::Now() < give_up);
    if (status.ok()) return std::nullopt;
    return absl::StrCat("no call succeeds after the faults: ", status.ToString(), "; ", channel_->DescribeState());
  }

  std::optional<std::string> Close() {
    stub_.reset();
    channel_.reset();
    server_->Shutdown(absl::Seconds(2));
    const uint64_t calls_left = server_->counters().calls_in_flight;
    server_.reset();
    const std::string held = DescribeHeld();
    if (calls_left == 0 && held.empty()) return std::nullopt;
    return absl::StrCat("still held when all is closed: calls ", calls_left, "; ", held);
  }

  const uint64_t seed_;
  std::mt19937_64 random_;
  CountingService service_;
  std::unique_ptr<Server> server_;
  std::shared_ptr<Channel> channel_;
  std::optional<probe::Probe::Stub> stub_;
  std::deque<Call> calls_;

  std::mutex mu_;
  std::condition_variable changed_;
  size_t begun_ ABSL_GUARDED_BY(mu_) = 0;
  size_t completed_ ABSL_GUARDED_BY(mu_) = 0;
  absl::Duration lateness_max_ ABSL_GUARDED_BY(mu_) = -absl::InfiniteDuration();
};

}  // namespace

std::optional<std::string> RunWorkload(uint64_t seed) {
  // Not destroyed after a failure: calls that hang would hang their channel's destructor too.
  auto run = std::make_unique<Run>(seed);
  std::optional<std::string> failure = run->Whole();
  if (failure.has_value()) static_cast<void>(run.release());
  soft::PlanFaultsOfProcess({});
  return failure;
}

std::optional<std::string> RunWorkloadUnderRandomFaults(uint64_t seed) {
  return RunWorkload(seed, soft::RandomFaultPlan({.seed = seed,
                                                  .count = kFaultsPerQueuePair * kQueuePairs,
                                                  .objects = kQueuePairs,
                                                  .operations = kOperationsBefallen}));
}

std::optional<std::string> RunWorkload(uint64_t seed, const soft::FaultPlan& plan) {
  const std::string command = absl::StrCat("VERBENA_SOFT_FAULTS='", soft::FormatFaultPlan(plan),
                                           "' bazel run //tests/faults:run_workload -- ", seed);
  std::fprintf(stderr, "%s\n", command.c_str());
  soft::PlanFaultsOfProcess(plan);
  std::optional<std::string> failure = RunWorkload(seed);
  if (!failure.has_value()) return std::nullopt;
  return absl::StrCat(*failure, "\nAgain: ", command);
}

}  // namespace verbena::faults
