// The log of what was refused, and to whom: a line for each refusal, as far as lines are to be had. Whoever is refused
// decides how often that happens, so lines have a rate; those that find none are counted, and the next line says how
// many there were.
//
// Owner: the server or the listener. Thread: any.

#ifndef VERBENA_TRANSPORT_AUDIT_LOG_H_
#define VERBENA_TRANSPORT_AUDIT_LOG_H_

#include <cstdint>
#include <mutex>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace verbena::transport {

class AuditLog {
 public:
  static constexpr uint32_t kLinesAtOnceMax = 20;
  static constexpr absl::Duration kLineInterval = absl::Seconds(1);  // A line more for each, up to that many.

  // "<what> was refused: <why>", at severity warning. Both may have a peer's words: what is not printable ASCII is
  // escaped, and what is longer than 512 bytes cut. `now` is of any loop's clock.
  void Refused(absl::string_view what, const absl::Status& why, absl::Time now);

 private:
  bool TakeLine(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  std::mutex mu_;
  double lines_ ABSL_GUARDED_BY(mu_) = kLinesAtOnceMax;
  absl::Time counted_until_ ABSL_GUARDED_BY(mu_) = absl::InfinitePast();
  uint64_t unlogged_ ABSL_GUARDED_BY(mu_) = 0;  // Since the last line.
};

}  // namespace verbena::transport

#endif  // VERBENA_TRANSPORT_AUDIT_LOG_H_
