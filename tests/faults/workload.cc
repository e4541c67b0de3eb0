#include "tests/faults/workload.h"

#include <atomic>
#include <condition_variable>
#include <cstdio>
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
#include "tests/integration/probe_service.h"
#include "transport/endpoint.h"

namespace verbena::faults {
namespace {

constexpr size_t kCalls = 120;
constexpr size_t kCallsAtOnce = 12;
constexpr size_t kLargeBytesMax = 300'000;
constexpr absl::Duration kTimeoutMin = absl::Milliseconds(100);
constexpr absl::Duration kTimeoutMax = absl::Milliseconds(1500);
constexpr absl::Duration kLateness = absl::Seconds(10);  // Of a machine that is busy with other tests.
constexpr absl::Duration kRecovery = absl::Seconds(20);

// Short times, so that what a fault left hanging is found within the run.
TransportOptions Transport(uint64_t seed) {
  TransportOptions options;
  options.rnr_retry_count = seed % 2 == 0 ? 0 : 6;
  options.handshake_timeout = absl::Milliseconds(500);
  options.keepalive_interval = absl::Milliseconds(200);
  options.keepalive_timeout = absl::Milliseconds(300);
  options.drain_timeout = absl::Seconds(1);
  return options;
}

// Remembers whose handlers ran: the body of a request is its call's number.
class CountingService : public probe::ProbeService {
 public:
  absl::Status Echo(ServerContext* context, const probe::EchoRequest* request, probe::EchoReply* reply) override {
    {
      const std::lock_guard lock(mu_);
      ran_.insert(request->body());
    }
    return ProbeService::Echo(context, request, reply);
  }

  bool Ran(const std::string& body) {
    const std::lock_guard lock(mu_);
    return ran_.contains(body);
  }

 private:
  std::mutex mu_;
  std::set<std::string> ran_ ABSL_GUARDED_BY(mu_);
};

// One call, and what came of it.
struct Call {
  std::string body;
  std::string attachment;
  absl::Time deadline;
  ClientContext context;
  probe::EchoRequest request;
  probe::EchoReply reply;
  absl::Status status;
  int completions = 0;
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
    options.wait = seed_ % 3 == 0 ? WaitPolicy::kEvent : WaitPolicy::kAdaptive;
    Server::Builder builder;
    builder.AddListeningAddress("soft://127.0.0.1:0").SetOptions(options).RegisterService(&service_);
    absl::StatusOr<std::unique_ptr<Server>> server = builder.Build();
    if (!server.ok()) return absl::StrCat("the server does not start: ", server.status().ToString());
    server_ = *std::move(server);
    ChannelOptions channel_options;
    channel_options.transport = Transport(seed_);
    channel_options.wait = options.wait;
    channel_options.connections = 1 + static_cast<int>(seed_ % 2);
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
    call.body = absl::StrCat("call ", calls_.size());
    if (random_() % 4 == 0) call.attachment.assign(random_() % kLargeBytesMax, static_cast<char>('a' + random_() % 26));
    call.request.set_body(call.body);
    call.context.set_attachment(absl::Cord(call.attachment));
    const absl::Duration timeout = kTimeoutMin + (kTimeoutMax - kTimeoutMin) * (double(random_() % 100) / 100);
    call.context.set_timeout(timeout);
    call.deadline = absl::Now() + timeout;
    {
      const std::lock_guard lock(mu_);
      ++begun_;
    }
    stub_->async()->Echo(&call.context, &call.request, &call.reply, [this, &call](absl::Status status) {
      const std::lock_guard lock(mu_);
      call.status = std::move(status);
      if (++call.completions == 1) ++completed_;
      lateness_max_ = std::max(lateness_max_, absl::Now() - call.deadline);
      changed_.notify_all();
    });
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
      if (call.completions != 1) return absl::StrCat(call.body, " completed ", call.completions, " times");
      if (call.status.ok() && (call.reply.body() != call.body || call.context.attachment() != call.attachment)) {
        return absl::StrCat(call.body, " got the reply of another, or wrong bytes");
      }
      if (GetCertainty(call.status) == Certainty::kNotSent && service_.Ran(call.body)) {
        return absl::StrCat(call.body, " was run and reported as not sent: ", call.status.ToString());
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
    const TransportCounters held = transport::ReadTransportCounters();
    if (calls_left + held.connections + held.credits_granted + held.landing_bytes + held.exported_bytes +
            held.sends_queued ==
        0) {
      return std::nullopt;
    }
    return absl::StrCat("still held when all is closed: calls ", calls_left, ", connections ", held.connections,
                        ", credits ", held.credits_granted, ", landing bytes ", held.landing_bytes, ", exported bytes ",
                        held.exported_bytes, ", queued sends ", held.sends_queued);
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
