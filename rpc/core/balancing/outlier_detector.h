// Which servers answer so badly that they get no calls for a while: a server that is connected but broken.
//
// After gRPC's proposal A50 and Envoy's outlier detection, with their constants. Two rules eject:
// - consecutive failures: so many calls in a row were the server's fault (at once);
// - success rate (each interval): among servers with enough calls in the interval, and if those are enough, one whose
//   rate is below the mean by `stdev_factor` standard deviations.
// The n-th ejection of a server lasts n times base_ejection_time, up to ejection_time_max; each interval that it spends
// among the others takes one from n. No more than max_ejection_percent of the servers are ejected at a time (but one
// may always be), and never all.
//
// Order of calls: SetServers first and after each change of the list; OnCallEnded; OnDeadline when NextDeadline has
// come. No deadline while there is nothing to judge. Owner and thread: the balancer's.

#ifndef VERBENA_RPC_CORE_BALANCING_OUTLIER_DETECTOR_H_
#define VERBENA_RPC_CORE_BALANCING_OUTLIER_DETECTOR_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "rpc/core/balancing/call_outcome.h"
#include "rpc/core/balancing/server_list.h"

namespace verbena::rpc {

struct OutlierOptions {
  absl::Duration interval = absl::Seconds(10);
  absl::Duration base_ejection_time = absl::Seconds(30);
  absl::Duration ejection_time_max = absl::Seconds(300);
  uint32_t max_ejection_percent = 10;  // 0 = nobody is ever ejected.
  uint32_t consecutive_failures = 5;   // 0 = not by this rule.
  double stdev_factor = 1.9;           // 0 = not by success rate.
  uint32_t servers_min = 5;            // With enough calls, for success rates to be compared.
  uint32_t calls_min = 100;            // Of one server in one interval, for its rate to count.
};

// InvalidArgument, naming the option, its value and what is allowed.
absl::Status CheckOptions(const OutlierOptions& options);

class OutlierDetector {
 public:
  // `options` have passed CheckOptions.
  explicit OutlierDetector(const OutlierOptions& options) : options_(options) {}

  void SetServers(const std::vector<ListedServer>& servers);

  // These return whether anybody was ejected or let in again. A server that is not there, or is ejected, is not judged.
  bool OnCallEnded(ServerId id, CallOutcome outcome, absl::Time now);
  bool OnDeadline(absl::Time now);

  absl::Time NextDeadline() const;  // InfiniteFuture: none.

  bool IsEjected(ServerId id) const;
  size_t ejected() const { return ejected_; }
  // How many may be at a time.
  size_t EjectedMax() const;

 private:
  struct Record {
    // Of this interval.
    uint32_t answered = 0;
    uint32_t faults = 0;

    uint32_t faults_in_a_row = 0;
    uint32_t multiplier = 0;  // n above.
    bool ejected = false;
    absl::Time ejected_until;

    double SuccessRate() const { return static_cast<double>(answered) / (answered + faults); }
  };

  bool Eject(Record& record, absl::Time now);
  bool LetIn(absl::Time now);
  bool EjectBySuccessRate(absl::Time now);
  void StartInterval(absl::Time now);

  const OutlierOptions options_;
  absl::flat_hash_map<ServerId, Record> records_;
  size_t ejected_ = 0;
  absl::Time interval_end_ = absl::InfiniteFuture();
};

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_CORE_BALANCING_OUTLIER_DETECTOR_H_
