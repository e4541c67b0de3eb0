// How long a peer may sit on many withdrawn exports: it may be slow, and then finishes one now and then, or not finish
// at all, and then leaves no transfer to the messages that wait.
//
// Owner: the connection machine. Thread: its loop's.

#ifndef VERBENA_TRANSPORT_PROTOCOL_QUARANTINE_WATCH_H_
#define VERBENA_TRANSPORT_PROTOCOL_QUARANTINE_WATCH_H_

#include <cstdint>

#include "absl/time/time.h"
#include "transport/protocol/limits.h"

namespace verbena::protocol {

class QuarantineWatch {
 public:
  explicit QuarantineWatch(absl::Duration timeout) : timeout_(timeout) {}

  // So many exports are in quarantine now: after each change.
  void OnCount(uint32_t count, absl::Time now) {
    const bool one_left = count < count_;
    count_ = count;
    if (count <= kQuarantineExportsMax) {
      deadline_ = absl::InfiniteFuture();
    } else if (one_left || deadline_ == absl::InfiniteFuture()) {
      deadline_ = now + timeout_;
    }
  }
  // When the peer has had its time, unless one leaves before; InfiniteFuture while there are not too many.
  absl::Time Deadline() const { return deadline_; }

 private:
  const absl::Duration timeout_;
  uint32_t count_ = 0;
  absl::Time deadline_ = absl::InfiniteFuture();
};

}  // namespace verbena::protocol

#endif  // VERBENA_TRANSPORT_PROTOCOL_QUARANTINE_WATCH_H_
