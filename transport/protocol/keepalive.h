// Own failure detection: probes a silent peer, and gives it up when it does not answer.
//
// The time-outs of a queue pair can exceed two minutes, and an idle reliable connection notices nothing at all. Any
// frame counts as a sign of life. A probe is a kPing, a frame of 32 bytes (some devices drop empty messages).
//
// Owner: the connection machine. Thread: its loop's.

#ifndef VERBENA_TRANSPORT_PROTOCOL_KEEPALIVE_H_
#define VERBENA_TRANSPORT_PROTOCOL_KEEPALIVE_H_

#include "absl/time/time.h"

namespace verbena::protocol {

class Keepalive {
 public:
  enum class Judgement {
    kAlive,  // Nothing to do before Deadline().
    kProbe,  // Send a probe now.
    kDead,   // The probe was not answered in time.
  };

  // `interval`: silence before a probe; zero = never probes. `timeout`: silence after the probe before the peer is
  // dead.
  Keepalive(absl::Duration interval, absl::Duration timeout, absl::Time now)
      : interval_(interval > absl::ZeroDuration() ? interval : absl::InfiniteDuration()),
        timeout_(timeout),
        last_heard_(now),
        deadline_(now + interval_) {}

  void OnFrame(absl::Time now) {
    last_heard_ = now;
    if (!probing_) return;
    probing_ = false;
    deadline_ = now + interval_;
  }

  bool probing() const { return probing_; }
  // When to ask for the next judgement. While there is traffic it is that of an earlier silence, and moves when it has
  // come: nothing is calculated for each frame.
  absl::Time Deadline() const { return deadline_; }

  // kProbe is said once per silence.
  Judgement Judge(absl::Time now) {
    if (now < deadline_) return Judgement::kAlive;
    if (probing_) return Judgement::kDead;
    deadline_ = last_heard_ + interval_;
    if (now < deadline_) return Judgement::kAlive;
    probing_ = true;
    deadline_ = now + timeout_;
    return Judgement::kProbe;
  }

 private:
  const absl::Duration interval_;
  const absl::Duration timeout_;
  absl::Time last_heard_;
  absl::Time deadline_;
  bool probing_ = false;
};

}  // namespace verbena::protocol

#endif  // VERBENA_TRANSPORT_PROTOCOL_KEEPALIVE_H_
