// How loaded somebody is, on the average of the last moments: what is measured jumps by a thread or a call at a time,
// and who chooses by it wants to know how it is and not how it happened to be.
//
// An exponentially weighted average over some kTimeConstant, however seldom it is measured: after a pause the new
// measurement is all there is to say.
//
// A value. Owner and thread: the user's.

#ifndef VERBENA_RPC_CORE_OVERLOAD_LOAD_AVERAGE_H_
#define VERBENA_RPC_CORE_OVERLOAD_LOAD_AVERAGE_H_

#include <algorithm>

#include "absl/time/time.h"

namespace verbena::rpc {

class LoadAverage {
 public:
  static constexpr absl::Duration kTimeConstant = absl::Milliseconds(500);

  // `load` is measured at `now`, which never goes back. Returns the average.
  double Add(double load, absl::Time now) {
    const double weight = std::min(1.0, absl::FDivDuration(now - last_, kTimeConstant));
    last_ = now;
    return average_ += weight * (load - average_);
  }
  double average() const { return average_; }

 private:
  double average_ = 0;
  absl::Time last_ = absl::InfinitePast();
};

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_CORE_OVERLOAD_LOAD_AVERAGE_H_
