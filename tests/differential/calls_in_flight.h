// Calls of one channel, each judged when it completes.
//
// Owner: a run. Thread: one; calls complete on the channel's.

#ifndef VERBENA_TESTS_DIFFERENTIAL_CALLS_IN_FLIGHT_H_
#define VERBENA_TESTS_DIFFERENTIAL_CALLS_IN_FLIGHT_H_

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/strings/cord.h"
#include "tests/differential/planned_call.h"
#include "tests/integration/probe.verbena.h"
#include "tests/integration/probe_call.h"

namespace verbena::differential {

// What the n-th call sends and must get back: bytes that follow from its number.
absl::Cord Content(uint64_t number, uint64_t bytes);

class CallsInFlight {
 public:
  CallsInFlight() = default;
  CallsInFlight(const CallsInFlight&) = delete;
  CallsInFlight& operator=(const CallsInFlight&) = delete;

  // Begins a call and returns its number, from 0.
  size_t Begin(probe::Probe::Stub& stub, const PlannedCall& planned);
  void Cancel(size_t number) { calls_[number].context.TryCancel(); }

  size_t begun() const { return calls_.size(); }
  // False if a call does not complete within minutes.
  [[nodiscard]] bool WaitUntilAtMostInFlight(size_t count);
  [[nodiscard]] bool WaitForAll() { return WaitUntilAtMostInFlight(0); }

  // Of a call that has completed: one line of what was asked and what came of it, the same wherever nothing is wrong.
  // Where a race decides, it names all that is allowed. `as_expected` becomes false if the call has ended otherwise;
  // the line says so then, and how.
  std::string Report(size_t number, bool* as_expected);

 private:
  struct Call : probe::ProbeCall {
    PlannedCall planned;
    absl::Cord content;
  };

  static void Start(probe::Probe::Stub& stub, Call& call, Call::Done done);
  static void SetAttachment(Call& call);
  static bool HasItsReply(const Call& call);
  static std::string OutcomeOf(const Call& call);

  std::deque<Call> calls_;
  std::mutex mu_;
  std::condition_variable changed_;
  size_t completed_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace verbena::differential

#endif  // VERBENA_TESTS_DIFFERENTIAL_CALLS_IN_FLIGHT_H_
