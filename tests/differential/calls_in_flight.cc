#include "tests/differential/calls_in_flight.h"

#include <algorithm>
#include <random>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "rpc/certainty.h"
#include "rpc/payload.h"
#include "tests/integration/probe_service.h"

namespace verbena::differential {
namespace {

constexpr absl::Duration kPatience = absl::Minutes(4);
constexpr int64_t kHoldMilliseconds = 600000;
// Prime, so that no two pages of a message, and no two chunks of a fetch, have the same bytes.
constexpr size_t kBlockBytes = 1048573;

// Bytes that repeat in all contents: long ones cost no memory of their own.
const absl::Cord& Block() {
  static const auto* const block = [] {
    std::mt19937_64 random(1);
    std::string bytes(kBlockBytes, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    return new absl::Cord(std::move(bytes));
  }();
  return *block;
}

// Without a copy to compare with: in a guest each page that is touched first costs 0.1 ms and more.
bool IsRepeated(char byte, uint64_t times, const absl::Cord& bytes) {
  return bytes.size() == times && absl::c_all_of(bytes.Chunks(), [byte](absl::string_view chunk) {
           return chunk.find_first_not_of(byte) == absl::string_view::npos;
         });
}

}  // namespace

absl::Cord Content(uint64_t number, uint64_t bytes) {
  absl::Cord content;
  size_t start = number * 4099 % kBlockBytes;
  while (content.size() < bytes) {
    content.Append(Block().Subcord(start, bytes - content.size()));
    start = 0;
  }
  return content;
}

size_t CallsInFlight::Begin(probe::Probe::Stub& stub, const PlannedCall& planned) {
  const size_t number = calls_.size();
  Call& call = calls_.emplace_back();
  call.planned = planned;
  call.content = Content(number, planned.bytes);
  Start(stub, call, [this, &call](absl::Status status) {
    const std::lock_guard lock(mu_);
    if (call.Complete(std::move(status))) ++completed_;
    changed_.notify_all();
  });
  return number;
}

void CallsInFlight::Start(probe::Probe::Stub& stub, Call& call, Call::Done done) {
  switch (call.planned.kind) {
    case CallKind::kTimedOut:
    case CallKind::kNobodyThere:
      call.context.set_timeout(call.planned.timeout);
      [[fallthrough]];
    case CallKind::kCancelled:
    case CallKind::kServerKilled:
    case CallKind::kChannelDestroyed:
      call.hold_request.set_milliseconds(kHoldMilliseconds);
      return call.StartHold(stub, std::move(done));
    case CallKind::kFetch:
      call.fetch_request.set_bytes(call.planned.bytes);
      return call.StartFetch(stub, std::move(done));
    case CallKind::kExpired:
    case CallKind::kTimeRace:
      call.context.set_timeout(call.planned.timeout);
      [[fallthrough]];
    case CallKind::kAttachment:
    case CallKind::kLent:
    case CallKind::kPastLimit:
    case CallKind::kCancelRace:
      SetAttachment(call);
      break;
    case CallKind::kBody:
      call.echo_request.set_body(std::string(call.content));
      break;
  }
  call.StartEcho(stub, std::move(done));
}

void CallsInFlight::SetAttachment(Call& call) {
  if (call.planned.kind != CallKind::kLent) return call.context.set_attachment(call.content);
  absl::StatusOr<PayloadMemory> memory = AllocatePayload(call.planned.bytes);
  if (!memory.ok()) return;  // The reply will be a wrong one.
  auto* to = reinterpret_cast<char*>(memory->data());
  for (const absl::string_view chunk : call.content.Chunks()) to = std::copy(chunk.begin(), chunk.end(), to);
  call.context.set_attachment(std::move(*memory).ToCord());
}

bool CallsInFlight::WaitUntilAtMostInFlight(size_t count) {
  std::unique_lock lock(mu_);
  return changed_.wait_for(lock, absl::ToChronoMilliseconds(kPatience),
                           [&] { return calls_.size() - completed_ <= count; });
}

bool CallsInFlight::HasItsReply(const Call& call) {
  switch (call.planned.kind) {
    case CallKind::kBody:
      return call.context.attachment().empty() && call.echo_reply.body() == call.content;
    case CallKind::kFetch:
      return IsRepeated(probe::kFetchedByte, call.planned.bytes, call.context.attachment());
    default:
      return call.context.attachment() == call.content && call.echo_reply.body().empty();
  }
}

std::string CallsInFlight::OutcomeOf(const Call& call) {
  if (call.completions != 1) return absl::StrCat("completed ", call.completions, " times");
  if (call.status.ok()) return HasItsReply(call) ? "reply" : "wrong reply";
  return absl::StrCat(absl::StatusCodeToString(call.status.code()), ", ", ToString(GetCertainty(call.status)));
}

std::string CallsInFlight::Report(size_t number, bool* as_expected) {
  const std::lock_guard lock(mu_);
  Call& call = calls_[number];
  const std::string outcome = OutcomeOf(call);
  call.context.Reset();  // Landing memory is not kept longer than a look at it.
  const std::string asked = absl::StrCat("call ", number, ", ", Describe(call.planned), ": ");
  if (MayEnd(call.planned.kind, outcome))
    return absl::StrCat(asked, absl::StrJoin(OutcomesOf(call.planned.kind), " or "));
  *as_expected = false;
  return absl::StrCat(asked, "UNEXPECTED ", outcome, ": ", call.status.ToString());
}

}  // namespace verbena::differential
