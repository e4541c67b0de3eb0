// Which server has a call, of all those that a channel knows: the machine that coordinates list, policy and outlier
// detection. Sans-IO: it neither connects nor looks up names; it says whom to connect, and picks.
//
// Inputs: OnList (what a name source says), OnConnecting / OnReady / OnFailed / OnIdle (each server's connection),
// OnHealth, OnLoad, OnCallStarted / OnCallEnded, OnDeadline. Words about a server that has left the list are ignored.
// Output: Pick, and Wants for each server. Order of calls: whenever version() has moved, the driver asks Wants for each
// server, connects or closes accordingly, and picks anew for calls that wait.
//
// A server that failed counts as failed until it is ready again, also while it is connecting: calls fail at once during
// an outage and do not wait through every attempt (gRPC's sticky TRANSIENT_FAILURE). When to attempt again is rpc/core/
// reconnect.h's affair, one for each server.
//
// Owner and thread: the channel's, one at a time. Pick and OnCall… allocate nothing but a failure's first status.

#ifndef VERBENA_RPC_CORE_BALANCING_BALANCER_H_
#define VERBENA_RPC_CORE_BALANCING_BALANCER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "rpc/core/balancing/maglev_table.h"
#include "rpc/core/balancing/outlier_detector.h"
#include "rpc/core/balancing/policy.h"
#include "rpc/core/balancing/server_list.h"

namespace verbena::rpc {

enum class PolicyKind {
  kPickFirst,              // pick_first.h
  kRoundRobin,             // round_robin.h
  kLeastOutstandingOfTwo,  // least_outstanding.h
  kConsistentHashing,      // consistent_hashing.h
};

// "pick_first", "round_robin", "least_outstanding_of_two", "consistent_hashing".
const char* ToString(PolicyKind kind);

struct BalancerOptions {
  PolicyKind policy = PolicyKind::kPickFirst;
  uint64_t seed = 0;       // Drawn for this client: decides its subset and where its turns begin.
  size_t subset_size = 0;  // subset.h; 0 = all. Not with consistent hashing, whose clients must agree on the list.
  OutlierOptions outlier = {};
  uint32_t maglev_table_size = kMaglevTableSize;  // A prime from 3 to 5,000,011.
};

// InvalidArgument, naming the option, its value and what is allowed.
absl::Status CheckOptions(const BalancerOptions& options);

struct PickResult {
  enum class Kind {
    kServer,  // `server` is to have the call.
    kWait,    // None yet, but one that has not failed is still to be tried, or the first list is to come.
    kFailed,  // `status` says why; a call that waits for ready may wait all the same.
  };

  Kind kind;
  ServerId server = ServerId{0};
  absl::Status status;
};

class Balancer {
 public:
  static absl::StatusOr<std::unique_ptr<Balancer>> Create(const BalancerOptions& options);

  ServerList::Change OnList(const absl::StatusOr<std::vector<ServerAddress>>& list);

  void OnConnecting(ServerId id);
  // `serving`: false if the server has said already that it does not serve. One that is ready already keeps its load.
  void OnReady(ServerId id, bool serving = true);
  // An attempt failed or a connection was lost. `reason` is not OK.
  void OnFailed(ServerId id, absl::Status reason);
  // Its connection was closed since it is not wanted, or it is not tried any more. A failure is not forgotten by it.
  void OnIdle(ServerId id);
  // SERVING or NOT_SERVING, while ready.
  void OnHealth(ServerId id, bool serving);
  // 0 (nothing to do) to 1 (full); what is outside is cut off. It counts until the next, or until it connects again.
  void OnLoad(ServerId id, double load);

  PickResult Pick(const PickRequest& request);

  void OnCallStarted(ServerId id);
  void OnCallEnded(ServerId id, absl::StatusCode code, absl::Time now);

  absl::Time NextDeadline() const { return outliers_.NextDeadline(); }
  void OnDeadline(absl::Time now);

  // False also for a server that has left the list.
  bool Wants(ServerId id) const { return servers_.Find(id) != nullptr && policy_->Wants(id); }
  // Moves when Wants, or what Pick says, may have changed for another reason than calls that start and end.
  uint64_t version() const { return version_; }

  const ServerList& servers() const { return servers_; }
  const OutlierDetector& outliers() const { return outliers_; }

 private:
  explicit Balancer(const BalancerOptions& options);

  void OnEjectionsChanged();
  // After each change of a list, state, health or ejection.
  void Update();
  bool AnyWorthWaitingFor() const;

  const BalancerOptions options_;
  const std::unique_ptr<Policy> policy_;
  ServerList servers_;
  OutlierDetector outliers_;
  absl::Status no_server_;  // Pick's failure, made once for each version; OK: not made yet.
  uint64_t version_ = 0;
};

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_CORE_BALANCING_BALANCER_H_
