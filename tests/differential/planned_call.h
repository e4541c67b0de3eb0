// The calls of a seed: what each one is, and what may come of it on whatever device.
//
// Pure: the same seed gives the same calls everywhere.

#ifndef VERBENA_TESTS_DIFFERENTIAL_PLANNED_CALL_H_
#define VERBENA_TESTS_DIFFERENTIAL_PLANNED_CALL_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace verbena::differential {

enum class CallKind : uint8_t {
  kBody,             // An echo of bytes in the protobuf message,
  kAttachment,       // beside it, from memory of the program's own,
  kLent,             // and from payload memory.
  kFetch,            // Bytes of the server's.
  kPastLimit,        // An attachment that is longer than the client's limit.
  kExpired,          // An echo that has no time left when it is made.
  kTimedOut,         // A call that the server holds until its deadline.
  kTimeRace,         // An echo whose deadline may come before its reply.
  kCancelled,        // A call that the server holds until it is cancelled.
  kCancelRace,       // An echo that is cancelled while it is under way, or when it is over.
  kServerKilled,     // A call that the server holds when it is killed.
  kNobodyThere,      // A call with a deadline, made while there is no server.
  kChannelDestroyed  // A call that the server holds when the channel goes.
};

struct PlannedCall {
  CallKind kind;
  uint64_t bytes = 0;                             // Of the request's body or attachment, or of what is fetched.
  absl::Duration timeout = absl::ZeroDuration();  // Of those kinds whose deadline passes.
  size_t cancel_after = 0;                        // kCancelRace: when so many calls more have been begun.
};

inline constexpr uint64_t kBytesMax = uint64_t{64} << 20;  // Of what is echoed or fetched.

// Calls that may be in flight side by side. They end before anything happens to the connection.
std::vector<PlannedCall> PlanCalls(uint64_t seed);

// "attachment of 4711 bytes".
std::string Describe(const PlannedCall& call);

// What may come of a call: "reply", or a status code, with its certainty where that does not depend on time:
// "UNAVAILABLE, outcome unknown". More than one where a race decides.
std::vector<absl::string_view> OutcomesOf(CallKind kind);

// Whether `outcome` ("reply", "CANCELLED, not sent") is one of those.
bool MayEnd(CallKind kind, absl::string_view outcome);

}  // namespace verbena::differential

#endif  // VERBENA_TESTS_DIFFERENTIAL_PLANNED_CALL_H_
