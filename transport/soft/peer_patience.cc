#include "transport/soft/peer_patience.h"

#include <algorithm>

namespace verbena::soft {

void PeerPatience::Configure(uint8_t timeout, uint8_t retry_count) {
  constexpr std::chrono::nanoseconds kUnit(4096);
  constexpr uint8_t kTimeoutMax = 31;
  auto limit = kUnit * (int64_t{1} << std::min(timeout, kTimeoutMax)) * (retry_count + 1);
  limit_ = timeout == 0 ? std::chrono::microseconds(0)
                        : std::max(kLimitMin, std::chrono::duration_cast<std::chrono::microseconds>(limit));
}

void PeerPatience::Begin(const Signs& signs, Clock::time_point now) {
  waiting_ = true;
  signs_ = signs;
  last_sign_ = now;
  probes_ = 0;
  interval_ = kFirstProbe;
  next_look_ = now + interval_;
}

std::chrono::microseconds PeerPatience::Limit() const {
  if (!signs_.closed) return limit_;
  return limit_.count() == 0 ? kClosedLimitMax : std::min(limit_, kClosedLimitMax);
}

PeerPatience::Verdict PeerPatience::Look(const Signs& signs, Clock::time_point now) {
  bool may_live = !signs_.closed;
  if (!waiting_ || (may_live && (signs.closed || signs.progress != signs_.progress))) {
    Begin(signs, now);
    return Verdict::kWait;
  }
  if (may_live && signs.answer != signs_.answer) {
    signs_ = signs;
    last_sign_ = now;
    probes_ = 0;
  }
  if (now < next_look_) return Verdict::kWait;
  std::chrono::microseconds limit = Limit();
  if (limit.count() != 0 && probes_ >= kProbesMin && now - last_sign_ >= limit) return Verdict::kGiveUp;
  ++probes_;
  next_look_ = now + interval_;
  interval_ = std::min(2 * interval_, kProbeIntervalMax);
  if (limit.count() != 0) interval_ = std::min(interval_, limit / 4);
  return Verdict::kProbe;
}

}  // namespace verbena::soft
