// A client of the chaos test: makes calls of all kinds and forms, as its seed has them, until SIGTERM; then lets those
// in flight end and makes plain calls until kCallsInARow have succeeded in a row. Prints "settled" and ends with 0, or
// says why not and ends with 1; ends with its parent.
//
//   chaos_client TARGET LEDGER ID SEED pick_first|round_robin|least_outstanding_of_two|consistent_hashing

#include <signal.h>
#include <sys/prctl.h>

#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "rpc/channel.h"
#include "rpc/coroutine/start_task.h"
#include "tests/chaos/chaos_call.h"
#include "tests/chaos/termination.h"

namespace verbena::chaos {
namespace {

constexpr size_t kCallsAtOnce = 12;
constexpr int kPauseMillisecondsMax = 20;  // Between two calls.
constexpr int kCallsInARow = 100;
constexpr absl::Duration kEndOfCalls = absl::Seconds(30);  // Twice what any call has.
constexpr absl::Duration kRecovery = absl::Seconds(60);

ChannelOptions OptionsOf(uint32_t id, const std::string& policy) {
  ChannelOptions options;
  using rpc::PolicyKind;
  for (const PolicyKind kind : {PolicyKind::kPickFirst, PolicyKind::kRoundRobin, PolicyKind::kLeastOutstandingOfTwo,
                                PolicyKind::kConsistentHashing}) {
    if (policy == ToString(kind)) options.balancing.policy = kind;
  }
  // Short times, so that what they bring about is met often.
  options.balancing.outlier.interval = absl::Seconds(1);
  options.balancing.outlier.base_ejection_time = absl::Seconds(1);
  options.balancing.outlier.ejection_time_max = absl::Seconds(4);
  options.connect_timeout = absl::Seconds(8);  // More than the longest back-off.
  options.transport.keepalive_interval = absl::Seconds(1);
  options.transport.keepalive_timeout = absl::Seconds(2);
  options.connections = 1 + static_cast<int>(id % 2);
  if (id % 3 == 0) options.retries[""] = {.attempts_max = 3};
  return options;
}

// An event loop and its thread, for coroutines.
class CoroutineThread {
 public:
  CoroutineThread() : loop_(*EventLoop::Create({})), thread_([this] { loop_->RunUntil([] { return false; }); }) {}
  ~CoroutineThread() {
    loop_->Stop();
    thread_.join();
  }
  CoroutineThread(const CoroutineThread&) = delete;
  CoroutineThread& operator=(const CoroutineThread&) = delete;

  EventLoop& loop() { return *loop_; }

 private:
  const std::unique_ptr<EventLoop> loop_;
  std::thread thread_;
};

class ChaosClient {
 public:
  ChaosClient(std::shared_ptr<Channel> channel, const std::string& ledger, uint32_t id, uint64_t seed)
      : id_(id), random_(seed), ledger_(ledger), channel_(channel), stub_(std::move(channel)) {}

  void CallUntil(const Termination& termination) {
    while (!termination.AwaitFor(absl::Milliseconds(random_.Next() % kPauseMillisecondsMax))) {
      CancelDue();
      if (InFlight() < kCallsAtOnce) Make(DrawPlan(random_));
    }
  }

  // Empty, or what does not come to an end.
  std::string Settle() {
    if (!AwaitEnds()) return absl::StrCat(InFlight(), " calls do not end; ", channel_->DescribeState());
    const absl::Time give_up = absl::Now() + kRecovery;
    for (int in_a_row = 0, made = 0; in_a_row < kCallsInARow; ++made) {
      const std::shared_ptr<ChaosCall> call = Make(PlainPlan(static_cast<CallForm>(made % 3)));
      if (!AwaitEnds()) return absl::StrCat("a plain call does not end; ", channel_->DescribeState());
      in_a_row = call->ok() ? in_a_row + 1 : 0;
      if (in_a_row == 0 && absl::Now() > give_up) {
        return absl::StrCat("calls fail still when all servers are there; ", channel_->DescribeState());
      }
    }
    return "";
  }

 private:
  std::shared_ptr<ChaosCall> Make(const CallPlan& plan) {
    const auto call = std::make_shared<ChaosCall>(MakeToken(id_, ++made_), plan, &ledger_);
    if (plan.cancel_after.has_value()) cancels_.emplace_back(absl::Now() + *plan.cancel_after, call);
    {
      const std::lock_guard lock(mu_);
      ++in_flight_;
    }
    switch (plan.form) {
      case CallForm::kBlocking:
        std::thread([this, call] {
          MakeBlocking(stub_, *call);
          OnEnd();
        }).detach();
        break;
      case CallForm::kCallback:
        MakeByCallback(stub_, call, [this] { OnEnd(); });
        break;
      case CallForm::kCoroutine:
        coroutines_.loop().Post([this, call] {
          StartTask(MakeByCoroutine(stub_, call), [this](const absl::Status&) { OnEnd(); }).Detach();
        });
        break;
    }
    return call;
  }

  void CancelDue() {
    const absl::Time now = absl::Now();
    std::erase_if(cancels_, [now](auto& cancel) {
      if (cancel.first > now) return false;
      cancel.second->context().TryCancel();
      return true;
    });
  }

  bool AwaitEnds() {
    for (auto& [when, call] : cancels_) call->context().TryCancel();
    cancels_.clear();
    std::unique_lock lock(mu_);
    return ended_.wait_for(lock, absl::ToChronoMilliseconds(kEndOfCalls), [this] { return in_flight_ == 0; });
  }

  size_t InFlight() {
    const std::lock_guard lock(mu_);
    return in_flight_;
  }
  void OnEnd() {
    const std::lock_guard lock(mu_);
    --in_flight_;
    ended_.notify_all();
  }

  const uint32_t id_;
  rpc::SplitMix64 random_;
  uint32_t made_ = 0;
  std::vector<std::pair<absl::Time, std::shared_ptr<ChaosCall>>> cancels_;

  std::mutex mu_;
  std::condition_variable ended_;
  size_t in_flight_ ABSL_GUARDED_BY(mu_) = 0;

  LedgerWriter ledger_;
  CoroutineThread coroutines_;
  const std::shared_ptr<Channel> channel_;
  Chaos::Stub stub_;
};

int Run(char** argv) {
  const Termination termination;
  const auto id = static_cast<uint32_t>(std::strtoul(argv[3], nullptr, 10));
  absl::StatusOr<std::shared_ptr<Channel>> channel = Channel::Create(argv[1], OptionsOf(id, argv[5]));
  if (!channel.ok()) {
    std::fprintf(stderr, "chaos_client: %s\n", channel.status().ToString().c_str());
    return 1;
  }
  ChaosClient client(*std::move(channel), argv[2], id, std::strtoull(argv[4], nullptr, 10));
  client.CallUntil(termination);
  const std::string unsettled = client.Settle();
  std::printf("%s\n", unsettled.empty() ? "settled" : unsettled.c_str());
  std::fflush(stdout);
  if (!unsettled.empty()) std::_Exit(1);  // What hangs would hang an orderly exit.
  return 0;
}

}  // namespace
}  // namespace verbena::chaos

int main(int argc, char** argv) {
  if (argc != 6) return 2;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  return verbena::chaos::Run(argv);
}
