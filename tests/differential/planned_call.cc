#include "tests/differential/planned_call.h"

#include <array>
#include <random>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "rpc/options.h"

namespace verbena::differential {
namespace {

constexpr size_t kCalls = 48;
constexpr int kUsualBytesBits = 20;  // Most are far below 2^20 bytes, as many in each power of two.
const uint64_t kReceiveBufferBytes = TransportOptions().receive_buffer_bytes;
constexpr size_t kCancelAfterMax = 2;
constexpr int64_t kTimeoutMsMax = 60;
const std::array kSizesOfNote = {uint64_t{0}, uint64_t{1}, kReceiveBufferBytes - 64, kReceiveBufferBytes};

// The first four are what the longest call of a seed may be.
constexpr std::array kReplied = {CallKind::kAttachment, CallKind::kBody, CallKind::kLent, CallKind::kFetch};
constexpr std::array kSpecial = {CallKind::kPastLimit,  CallKind::kExpired,   CallKind::kTimedOut,
                                 CallKind::kTimeRace,   CallKind::kTimeRace,  CallKind::kCancelled,
                                 CallKind::kCancelRace, CallKind::kCancelRace};

class Planner {
 public:
  explicit Planner(uint64_t seed) : random_(seed) {}

  PlannedCall Next() {
    PlannedCall call{Below(3) == 0 ? kSpecial[Below(kSpecial.size())] : kReplied[Below(kReplied.size())]};
    call.bytes = Below(8) == 0 ? kSizesOfNote[Below(kSizesOfNote.size())] : Below(2ULL << Below(kUsualBytesBits));
    if (call.kind == CallKind::kPastLimit) call.bytes += kBytesMax + (kBytesMax / 16);
    if (call.kind == CallKind::kTimedOut || call.kind == CallKind::kTimeRace) {
      call.timeout = absl::Milliseconds(1 + Below(kTimeoutMsMax));
    }
    if (call.kind == CallKind::kCancelRace) call.cancel_after = Below(kCancelAfterMax + 1);
    return call;
  }

  uint64_t Below(uint64_t bound) { return random_() % bound; }  // std's distributions differ between libraries.

 private:
  std::mt19937_64 random_;
};

absl::string_view NameOf(CallKind kind) {
  switch (kind) {
    case CallKind::kBody:
      return "body";
    case CallKind::kAttachment:
      return "attachment";
    case CallKind::kLent:
      return "lent attachment";
    case CallKind::kFetch:
      return "fetch";
    case CallKind::kPastLimit:
      return "attachment past the limit";
    case CallKind::kExpired:
      return "expired call";
    case CallKind::kTimedOut:
      return "timed out call";
    case CallKind::kTimeRace:
      return "race with the deadline";
    case CallKind::kCancelled:
      return "cancelled call";
    case CallKind::kCancelRace:
      return "race with a cancel";
    case CallKind::kServerKilled:
      return "call of a killed server";
    case CallKind::kNobodyThere:
      return "call without a server";
    case CallKind::kChannelDestroyed:
      return "call of a destroyed channel";
  }
  return "";
}

}  // namespace

std::vector<PlannedCall> PlanCalls(uint64_t seed) {
  Planner planner(seed);
  std::vector<PlannedCall> calls;
  for (size_t i = 0; i < kCalls; ++i) calls.push_back(planner.Next());
  calls[planner.Below(kCalls)] = {.kind = kReplied[seed % kReplied.size()], .bytes = kBytesMax};
  return calls;
}

std::string Describe(const PlannedCall& call) { return absl::StrCat(NameOf(call.kind), " of ", call.bytes, " bytes"); }

std::vector<absl::string_view> OutcomesOf(CallKind kind) {
  switch (kind) {
    case CallKind::kBody:
    case CallKind::kAttachment:
    case CallKind::kLent:
    case CallKind::kFetch:
      return {"reply"};
    case CallKind::kPastLimit:
      return {"RESOURCE_EXHAUSTED, not sent"};
    case CallKind::kExpired:
    case CallKind::kNobodyThere:
      return {"DEADLINE_EXCEEDED, not sent"};
    case CallKind::kTimedOut:
      return {"DEADLINE_EXCEEDED"};
    case CallKind::kTimeRace:
      return {"reply", "DEADLINE_EXCEEDED"};
    case CallKind::kCancelled:
      return {"CANCELLED, outcome unknown"};
    case CallKind::kCancelRace:
      return {"reply", "CANCELLED"};
    case CallKind::kServerKilled:
      return {"UNAVAILABLE, outcome unknown"};
    case CallKind::kChannelDestroyed:
      return {"CANCELLED, outcome unknown"};
  }
  return {};
}

bool MayEnd(CallKind kind, absl::string_view outcome) {
  return absl::c_any_of(OutcomesOf(kind), [outcome](absl::string_view allowed) {
    return outcome == allowed || absl::StartsWith(outcome, absl::StrCat(allowed, ", "));
  });
}

}  // namespace verbena::differential
