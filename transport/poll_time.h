// How long an event loop polls before it sleeps, learned from how long its last waits were.
//
// A loop that sleeps at once pays for a sleep and a wake-up at each wait, one that polls for ever pays a processor. In
// between, the poll time is chosen as in competitive spinning that learns (Karlin, Li, Manasse and Owicki, "Empirical
// Studies of Competitive Spinning for a Shared-Memory Multiprocessor", SOSP 1991): a sleep is taken to cost as much as
// `most` of polling, and of a few poll times, from none to `most`, the one is taken that would have been cheapest over
// the last waits, the longest of these if there are several. So it is short where work comes at once or not for long,
// as between bursts; as long as it takes where work comes steadily within `most`; and zero where a loop would poll in
// vain: idle, with seldom work, or with a peer that needs its processor.
//
// What a sleep hides: a wait that ended in one was measured with the loop's own wake-up, and where two ends wait for
// each other, with the other's. Each might sleep for ever only because the other does. Hence a probe: after some sleeps
// that were not long, the loop polls for `most` until that was in vain a few times, as KVM's halt polling grows its
// poll time when a sleep turns out short (Documentation/virt/kvm/halt-polling.rst). Two ends find each other if `most`
// is longer than a wake-up takes.
//
// Owner: an event loop. Thread: the loop's. Pure: durations are told. A wait is told once, when it has ended.

#ifndef VERBENA_TRANSPORT_POLL_TIME_H_
#define VERBENA_TRANSPORT_POLL_TIME_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/time/time.h"

namespace verbena::transport {

class PollTime {
 public:
  // `most`: not negative; zero: never polls, infinite: never sleeps. Begins with it, as if waits were short.
  explicit PollTime(absl::Duration most);

  // For how long to poll from the beginning of a wait on, before sleeping. At most `most`.
  absl::Duration value() const { return probes_ > 0 ? steps_.back() : learned_; }

  // Polling found work after `waited`.
  void OnFound(absl::Duration waited) { Learn(waited); }
  // value() passed without work, and the loop slept; `waited` is both together.
  void OnSlept(absl::Duration waited);

 private:
  // Poll times to choose from, beside none: `most`, its half, its quarter …
  static constexpr size_t kSteps = 7;

  void Learn(absl::Duration waited);
  absl::Duration Cheapest() const;

  // Constant after construction.
  std::array<absl::Duration, kSteps> steps_;  // Ascending.

  // How much the last waits weigh that ended within each step and not within the one before; behind them those that
  // were longer than `most`.
  std::array<uint32_t, kSteps + 1> weights_ = {};
  absl::Duration learned_;
  uint32_t short_sleeps_ = 0;  // Since the last probe.
  uint32_t probes_ = 0;        // How often the present probe may still be in vain; 0: there is none.
};

}  // namespace verbena::transport

#endif  // VERBENA_TRANSPORT_POLL_TIME_H_
