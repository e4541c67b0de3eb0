// Timers in order of their time. Sans-IO: the event loop says what time it is.
//
// Owner: an event loop. Thread: its loop's.

#ifndef VERBENA_TRANSPORT_TIMER_QUEUE_H_
#define VERBENA_TRANSPORT_TIMER_QUEUE_H_

#include <cstdint>
#include <limits>
#include <utility>

#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "absl/functional/any_invocable.h"
#include "absl/time/time.h"

namespace verbena::transport {

class TimerQueue {
 public:
  // Returns the timer's id, never 0 and never used again.
  uint64_t Add(absl::Time when, absl::AnyInvocable<void()> callback);

  // Nothing happens if it has run, or was cancelled. A callback may cancel any timer, its own included.
  void Cancel(uint64_t id);

  // Runs what is due at `now`, earliest first, timers of one time in order of adding. A timer that a callback adds for
  // `now` or before runs in the next call. Returns how many ran.
  int RunExpired(absl::Time now);

  // InfiniteFuture when there is none.
  absl::Time NextDeadline() const;

 private:
  using Key = std::pair<absl::Time, uint64_t>;  // Time, then id: ids grow with the order of adding.

  struct Timer {
    absl::Time when;
    absl::AnyInvocable<void()> callback;
  };

  // Apart from what they call: a node has room for ten keys. The last, of no timer, keeps the first node: few timers
  // come and go without another.
  absl::btree_set<Key> due_ = {Key(absl::InfiniteFuture(), std::numeric_limits<uint64_t>::max())};
  absl::flat_hash_map<uint64_t, Timer> timers_;  // By id.
  uint64_t last_id_ = 0;
};

}  // namespace verbena::transport

#endif  // VERBENA_TRANSPORT_TIMER_QUEUE_H_
