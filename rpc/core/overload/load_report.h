// What one connection's peer has been told of this server's load, and whether it is to be told again: responses carry
// the load only where it is news, so that most of them carry nothing and cost a comparison of times. A load that keeps
// calls away is news again every second: the peer may have heard another of another connection since, or have taken
// this one for a new server.
//
// Order of calls: for each response IsDue; if it is, IsNews; if that too, OnSaid, once the load is in its header. Then,
// at any time, OnResponseLost. A value. Owner and thread: the connection's.

#ifndef VERBENA_RPC_CORE_OVERLOAD_LOAD_REPORT_H_
#define VERBENA_RPC_CORE_OVERLOAD_LOAD_REPORT_H_

#include <cmath>
#include <optional>

#include "absl/time/time.h"

namespace verbena::rpc {

class LoadReport {
 public:
  // So often a response at most looks at the load; and what differs less from what the peer was told is no news.
  static constexpr absl::Duration kInterval = absl::Milliseconds(100);
  static constexpr double kNoticeable = 0.05;
  // After so long a noticeable load is said again, though it is the same.
  static constexpr absl::Duration kRepeatInterval = absl::Seconds(1);

  // Whether the response that leaves at `now` is one that looks.
  bool IsDue(absl::Time now) {
    if (now < next_) return false;
    next_ = now + kInterval;
    return true;
  }
  // Whether it is to say `load`.
  bool IsNews(double load, absl::Time now) const {
    if (!told_.has_value() || std::abs(load - *told_) >= kNoticeable) return true;
    return load >= kNoticeable && now >= repeat_;
  }
  // The response that leaves at `now` says `load`.
  void OnSaid(double load, absl::Time now) {
    told_ = load;
    repeat_ = now + kRepeatInterval;
  }
  // The peer has not seen, or may not have seen, a response that was to leave: whichever loads it was told, the next is
  // news.
  void OnResponseLost() { told_.reset(); }

 private:
  std::optional<double> told_ = 0;  // As long as a peer is told nothing it takes the load for 0. Nullopt: not known.
  absl::Time next_ = absl::InfinitePast();
  absl::Time repeat_ = absl::InfinitePast();
};

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_CORE_OVERLOAD_LOAD_REPORT_H_
