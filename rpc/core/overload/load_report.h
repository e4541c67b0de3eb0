// What one connection's peer has been told of this server's load, and whether it is to be told again: responses carry
// the load only where it is news, so that most of them carry nothing and cost a comparison of times.
//
// A value. Owner and thread: the connection's.

#ifndef VERBENA_RPC_CORE_OVERLOAD_LOAD_REPORT_H_
#define VERBENA_RPC_CORE_OVERLOAD_LOAD_REPORT_H_

#include <cmath>

#include "absl/time/time.h"

namespace verbena::rpc {

class LoadReport {
 public:
  // So often a response at most looks at the load; and what differs less from what the peer was told is no news.
  static constexpr absl::Duration kInterval = absl::Milliseconds(100);
  static constexpr double kNoticeable = 0.05;

  // Whether the response that leaves at `now` is one that looks.
  bool IsDue(absl::Time now) {
    if (now < next_) return false;
    next_ = now + kInterval;
    return true;
  }
  // Whether it is to say `load`; then that counts as told.
  bool IsNews(double load) {
    if (std::abs(load - told_) < kNoticeable) return false;
    told_ = load;
    return true;
  }

 private:
  double told_ = 0;  // As long as a peer is told nothing it takes the load for 0.
  absl::Time next_ = absl::InfinitePast();
};

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_CORE_OVERLOAD_LOAD_REPORT_H_
