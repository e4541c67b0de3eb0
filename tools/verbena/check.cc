#include "tools/verbena/check.h"

#include <algorithm>
#include <chrono>
#include <future>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "rpc/client_context.h"
#include "rpc/options.h"
#include "tools/verbena/check.verbena.h"
#include "tools/verbena/pattern.h"

namespace verbena::tools {
namespace {

constexpr absl::Duration kTimeout = absl::Seconds(10);  // Of each kind of call, unless it is about time.
constexpr int kSmallCalls = 1000;
constexpr size_t kSmallBytes = 64;
constexpr size_t kLargeBytes = 16 << 20;
constexpr uint64_t kSeed = 20;
constexpr absl::Duration kDeadline = absl::Milliseconds(100);
constexpr std::chrono::milliseconds kHeld(100);      // By the server, before it is cancelled.
constexpr absl::Duration kSlack = absl::Seconds(5);  // How long a call may outlive its deadline or its cancellation.

// What was seen, in words.
using Seen = absl::StatusOr<std::string>;

Seen Connect(check::Check::Stub& stub) {
  ClientContext context;
  context.set_timeout(kTimeout);
  const check::EchoRequest request;
  check::EchoReply reply;
  const absl::Time begin = absl::Now();
  if (absl::Status status = stub.Echo(&context, request, &reply); !status.ok()) {
    if (!absl::IsUnimplemented(status)) return status;
    return absl::UnimplementedError(
        absl::StrCat(status.message(), "; what is checked is a server that `verbena check-server` started"));
  }
  return absl::StrFormat("the first answer came within %.1f ms", absl::ToDoubleMilliseconds(absl::Now() - begin));
}

Seen CallSmall(check::Check::Stub& stub) {
  check::EchoRequest request;
  request.set_payload(std::string(kSmallBytes, 'v'));
  std::vector<absl::Duration> times;
  const absl::Time deadline = absl::Now() + kTimeout;  // Of all.
  for (int i = 0; i < kSmallCalls; ++i) {
    ClientContext context;
    context.set_deadline(deadline);
    check::EchoReply reply;
    const absl::Time begin = absl::Now();
    if (absl::Status status = stub.Echo(&context, request, &reply); !status.ok()) return status;
    times.push_back(absl::Now() - begin);
    if (reply.payload() != request.payload()) return absl::DataLossError("the reply is not the request");
  }
  const auto middle = times.begin() + kSmallCalls / 2;
  std::nth_element(times.begin(), middle, times.end());
  return absl::StrFormat("%d of %d bytes, half of them within %.1f us", kSmallCalls, kSmallBytes,
                         absl::ToDoubleMicroseconds(*middle));
}

// `time` is that of the call; the server's making or comparing of the bytes is part of it.
std::string Arrived(absl::Duration time) {
  return absl::StrFormat("%d MiB by RDMA READ within %.1f ms, every byte as it was sent", kLargeBytes >> 20,
                         absl::ToDoubleMilliseconds(time));
}

check::Pattern LargePattern() {
  check::Pattern pattern;
  pattern.set_seed(kSeed);
  pattern.set_bytes(kLargeBytes);
  return pattern;
}

Seen SendLarge(check::Check::Stub& stub) {
  absl::StatusOr<absl::Cord> attachment = MakePattern(kSeed, kLargeBytes);
  if (!attachment.ok()) return attachment.status();
  ClientContext context;
  context.set_timeout(kTimeout);
  context.set_attachment(*std::move(attachment));
  check::Nothing reply;
  const absl::Time begin = absl::Now();
  if (absl::Status status = stub.Take(&context, LargePattern(), &reply); !status.ok()) return status;
  return Arrived(absl::Now() - begin);
}

Seen ReceiveLarge(check::Check::Stub& stub) {
  ClientContext context;
  context.set_timeout(kTimeout);
  check::Nothing reply;
  const uint64_t reads = ReadTransportCounters().reads;
  const absl::Time begin = absl::Now();
  if (absl::Status status = stub.Give(&context, LargePattern(), &reply); !status.ok()) return status;
  const absl::Duration time = absl::Now() - begin;
  if (absl::Status status = ComparePattern(context.attachment(), kSeed, kLargeBytes); !status.ok()) return status;
  if (ReadTransportCounters().reads == reads) return absl::InternalError("it came, but not by RDMA READ");
  return Arrived(time);
}

// `outcome` is that of a call which the server would have held for ever, and `late` how long it took past what ends it.
Seen Ended(const absl::Status& outcome, absl::StatusCode wanted, absl::Duration late) {
  if (outcome.code() != wanted) return absl::InternalError(absl::StrCat("the call ended with ", outcome.ToString()));
  const std::string words =
      absl::StrFormat("a call that the server holds ended %.1f ms after it", absl::ToDoubleMilliseconds(late));
  if (late > kSlack) return absl::InternalError(words);
  return words;
}

Seen PassDeadline(check::Check::Stub& stub) {
  ClientContext context;
  context.set_timeout(kDeadline);
  check::Nothing reply;
  const absl::Time begin = absl::Now();
  const absl::Status status = stub.Hold(&context, check::Nothing(), &reply);
  return Ended(status, absl::StatusCode::kDeadlineExceeded, absl::Now() - begin - kDeadline);
}

Seen Cancel(check::Check::Stub& stub) {
  ClientContext context;
  context.set_timeout(kTimeout);
  const check::Nothing request;
  check::Nothing reply;
  std::promise<absl::Status> promise;
  std::future<absl::Status> outcome = promise.get_future();
  stub.async()->Hold(&context, &request, &reply, [promise = std::move(promise)](absl::Status status) mutable {
    promise.set_value(std::move(status));
  });
  outcome.wait_for(kHeld);
  const absl::Time begin = absl::Now();
  context.TryCancel();
  return Ended(outcome.get(), absl::StatusCode::kCancelled, absl::Now() - begin);
}

struct Step {
  const char* name;
  Seen (*run)(check::Check::Stub&);
};

constexpr Step kSteps[] = {
    {"connection", Connect},       {"small calls", CallSmall}, {"large request", SendLarge},
    {"large reply", ReceiveLarge}, {"deadline", PassDeadline}, {"cancellation", Cancel},
};

}  // namespace

bool RunCheck(std::shared_ptr<Channel> channel, std::ostream& output) {
  check::Check::Stub stub(channel);
  bool all = true;
  for (const Step& step : kSteps) {
    const Seen seen = step.run(stub);
    output << absl::StreamFormat("%-7s %s: %s\n", seen.ok() ? "ok" : "FAILED", step.name,
                                 seen.ok() ? *seen : seen.status().ToString());
    output.flush();
    all = all && seen.ok();
    if (!seen.ok() && step.run == Connect) break;
  }
  output << "channel: " << channel->DescribeState() << std::endl;
  return all;
}

}  // namespace verbena::tools
