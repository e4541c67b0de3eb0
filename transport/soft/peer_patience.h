// How long a requester waits for a peer that shows no sign of life, and when it asks for one.
//
// While requests are outstanding, somebody looks every now and then. As long as the peer gets on with them nothing
// happens. At a look after a millisecond without progress the peer is probed, and again, less and less often; an answer
// to a probe says that the peer is there but cannot get on (it has no receive posted). Without any sign for 4.096 us *
// 2^timeout * (retry_count + 1) (InfiniBand's "transport timer" and "retry counter", as ibv_modify_qp(3) has them) the
// peer is given up. It had three probes at least: a process that was not running itself has not waited.
//
// A peer that has closed (destroyed its queue pair, left it in ERR, or is known to have died) is waited for too, since
// a NIC's sender sends again until its retries are used up, whatever became of the receiver. Programs count on that:
// one ends when it has all that it waits for, with requests of its peer still under way, and the peer, which fails at
// the first bad completion, has that time to take in what was done on its other queue pairs, and to end well. But that
// it has closed is known here for sure, so no more than kClosedLimitMax is waited, from when the end was seen: also
// where the attributes say for ever, or 17 s as the connection manager's do, which nobody would tell from a hang. That
// delays nobody who has a better source: what the connection manager reports as disconnected fails at once
// (QueuePair::PeerGone), and so does what ibv_modify_qp takes to ERR.
//
// Pure: the caller brings the time. Thread: one at a time.

#ifndef VERBENA_TRANSPORT_SOFT_PEER_PATIENCE_H_
#define VERBENA_TRANSPORT_SOFT_PEER_PATIENCE_H_

#include <chrono>
#include <cstdint>

namespace verbena::soft {

class PeerPatience {
 public:
  using Clock = std::chrono::steady_clock;

  // `timeout` is InfiniBand's code; 0 is for ever.
  void Configure(uint8_t timeout, uint8_t retry_count);
  // What that comes to; 0 is for ever.
  std::chrono::microseconds limit() const { return limit_; }

  // What the peer has published, as far as it tells of progress, its last answer to a probe, and its end.
  struct Signs {
    uint64_t progress = 0;  // Changes with every step.
    uint64_t answer = 0;
    bool closed = false;  // Once seen, nothing else is a sign.
    bool operator==(const Signs&) const = default;
  };

  enum class Verdict {
    kWait,    // Look again at next_look().
    kProbe,   // The same, and ask the peer for a sign.
    kGiveUp,  // The peer has not answered in time.
  };
  Verdict Look(const Signs& signs, Clock::time_point now);
  Clock::time_point next_look() const { return next_look_; }

  // Nothing is outstanding: the next Look begins afresh.
  void Rest() { waiting_ = false; }

 private:
  static constexpr std::chrono::microseconds kFirstProbe{1000};
  static constexpr std::chrono::microseconds kProbeIntervalMax{100'000};
  // Whatever is configured: a process may have to wait for a processor that long.
  static constexpr std::chrono::microseconds kLimitMin{100'000};
  static constexpr int kProbesMin = 3;
  // The least that programs for NICs are used to: the usual attributes, timeout 14 and retry_cnt 7, are 537 ms.
  static constexpr std::chrono::microseconds kClosedLimitMax{500'000};

  void Begin(const Signs& signs, Clock::time_point now);
  // What limits the wait for a peer as last seen; 0 is for ever.
  std::chrono::microseconds Limit() const;

  std::chrono::microseconds limit_{0};  // 0: for ever.
  bool waiting_ = false;
  Signs signs_;                  // As last seen.
  Clock::time_point last_sign_;  // When they last changed.
  int probes_ = 0;               // Since then.
  std::chrono::microseconds interval_ = kFirstProbe;
  Clock::time_point next_look_;
};

}  // namespace verbena::soft

#endif  // VERBENA_TRANSPORT_SOFT_PEER_PATIENCE_H_
