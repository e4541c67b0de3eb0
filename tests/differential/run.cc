#include "tests/differential/run.h"

#include <cstdio>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "rpc/channel.h"
#include "tests/differential/calls_in_flight.h"
#include "tests/differential/planned_call.h"
#include "tests/integration/child_process.h"
#include "tests/integration/held.h"

namespace verbena::differential {
namespace {

constexpr size_t kCallsAtOnce = 4;
constexpr int kHeldCalls = 2;  // When something happens to their connection.
constexpr absl::Duration kTimeWithoutServer = absl::Milliseconds(200);
// An end that stands still for a while is not dead: where pages come slowly, writing 64 MiB takes a loop longer than
// the usual keepalive has patience.
constexpr absl::Duration kNoKeepalive = absl::ZeroDuration();
constexpr PlannedCall kSmallCall = {.kind = CallKind::kBody, .bytes = 1};

std::shared_ptr<Channel> MakeChannel(const std::string& address) {
  ChannelOptions options;
  options.wait = WaitPolicy::kEvent;
  options.connect_timeout = absl::Minutes(1);  // For the next server to start on a busy machine.
  options.transport.rnr_retry_count = 0;
  options.transport.keepalive_interval = kNoKeepalive;
  options.transport.message_bytes_max = kBytesMax + 4096;  // The call's header is counted too.
  absl::StatusOr<std::shared_ptr<Channel>> channel = Channel::Create(address, options);
  return channel.ok() ? *std::move(channel) : nullptr;
}

class Run {
 public:
  explicit Run(uint64_t seed) : seed_(seed), server_(StartServer(integration::AddressUnderTest())) {}

  // False: a call does not complete.
  bool Play() {
    channel_ = MakeChannel(server_->address());
    if (channel_ == nullptr) return false;
    stub_.emplace(channel_);
    return MakeCalls(2 * seed_) && KillServer() && MakeCalls((2 * seed_) + 1) && DestroyChannel();
  }

  bool Report() {
    bool as_expected = true;
    for (size_t number = 0; number < calls_.begun(); ++number) Print(calls_.Report(number, &as_expected));
    const std::string held = DescribeHeld();
    Print(held.empty() ? "nothing is held at the end" : absl::StrCat("UNEXPECTED: held at the end: ", held));
    return as_expected && held.empty();
  }

  void Print(const std::string& line) const {
    std::printf("seed %lu, %s\n", static_cast<unsigned long>(seed_), line.c_str());
  }

 private:
  static std::unique_ptr<probe::ServerProcess> StartServer(const std::string& address) {
    return std::make_unique<probe::ServerProcess>(
        address, probe::ServerProcessOptions{.wait = "event", .keepalive_interval = kNoKeepalive});
  }

  bool MakeCalls(uint64_t seed) {
    for (const PlannedCall& planned : PlanCalls(seed)) {
      if (!(planned.kind == CallKind::kCancelled ? MakeCancelled(planned) : MakeCall(planned))) return false;
    }
    CancelUntil(std::numeric_limits<size_t>::max());
    return calls_.WaitForAll();
  }

  bool MakeCall(const PlannedCall& planned) {
    if (!calls_.WaitUntilAtMostInFlight(kCallsAtOnce - 1)) return false;
    const size_t number = calls_.Begin(*stub_, planned);
    if (planned.kind == CallKind::kCancelRace) to_cancel_.emplace(number + planned.cancel_after, number);
    CancelUntil(number);
    return true;
  }

  void CancelUntil(size_t number) {
    while (!to_cancel_.empty() && to_cancel_.begin()->first <= number) {
      calls_.Cancel(to_cancel_.begin()->second);
      to_cancel_.erase(to_cancel_.begin());
    }
  }

  bool MakeCancelled(const PlannedCall& planned) {
    if (!Hold(planned, 1)) return false;
    calls_.Cancel(calls_.begun() - 2);
    return true;
  }

  // Calls that the server has when this returns: it has answered one that was sent after them.
  bool Hold(const PlannedCall& planned, int count) {
    CancelUntil(std::numeric_limits<size_t>::max());
    if (!calls_.WaitForAll()) return false;
    for (int i = 0; i < count; ++i) calls_.Begin(*stub_, planned);
    calls_.Begin(*stub_, kSmallCall);
    return calls_.WaitUntilAtMostInFlight(static_cast<size_t>(count));
  }

  bool KillServer() {
    if (!Hold({.kind = CallKind::kServerKilled}, kHeldCalls)) return false;
    const std::string address = server_->address();
    server_->process().KillAndWait();
    if (!calls_.WaitForAll()) return false;
    calls_.Begin(*stub_, {.kind = CallKind::kNobodyThere, .timeout = kTimeWithoutServer});
    if (!calls_.WaitForAll()) return false;
    server_ = StartServer(address);
    calls_.Begin(*stub_, kSmallCall);  // Waits for the connection.
    return calls_.WaitForAll();
  }

  bool DestroyChannel() {
    if (!Hold({.kind = CallKind::kChannelDestroyed}, kHeldCalls)) return false;
    stub_.reset();
    channel_.reset();
    return calls_.WaitForAll();
  }

  const uint64_t seed_;
  CallsInFlight calls_;
  std::multimap<size_t, size_t> to_cancel_;  // When the call of this number has been begun; which.
  std::unique_ptr<probe::ServerProcess> server_;
  std::shared_ptr<Channel> channel_;
  std::optional<probe::Probe::Stub> stub_;
};

}  // namespace

bool RunSeed(uint64_t seed) {
  // Not destroyed after a failure: calls that hang would hang their channel's destructor too.
  auto run = std::make_unique<Run>(seed);
  if (run->Play()) return run->Report();
  run->Print("UNEXPECTED: there is no channel, or a call does not complete");
  static_cast<void>(run.release());
  return false;
}

}  // namespace verbena::differential
