// The servers of one channel: what the last good list named, and what is known of each.
//
// A server that stays in the list keeps its id and its state; one that goes is forgotten with its id, which is never
// given again, so a late word about it reaches nobody. An empty list or an error changes nothing: servers that may
// still be there are better than none. The order is the list's.
//
// Owner and thread: the balancer's. Policies read it.

#ifndef VERBENA_RPC_CORE_BALANCING_SERVER_LIST_H_
#define VERBENA_RPC_CORE_BALANCING_SERVER_LIST_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "rpc/core/balancing/server_address.h"

namespace verbena::rpc {

enum class ServerId : uint64_t {};

enum class ServerState {
  kIdle,        // Nobody connects. Left by OnConnecting.
  kConnecting,  // Left by the connector's answer.
  kReady,       // Left by the loss of the connection, or by closing it.
  kFailed,      // Waits for its next attempt. Left by OnConnecting.
};

const char* ToString(ServerState state);

struct ListedServer {
  // Constant.
  ServerId id;
  // The list's.
  ServerAddress address = {};  // The weight is from 1 to kServerWeightMax.
  // Reported by the channel.
  ServerState state = ServerState::kIdle;
  absl::Status failure = {};  // Why it failed last; OK since it was ready or idle. Kept while it connects again.
  bool serving = true;        // False: it says NOT_SERVING.
  double load = 0;            // 0 (nothing to do) to 1 (full); 0 until it says so.
  uint32_t calls_in_flight = 0;
  // Derived.
  bool ejected = false;   // By the outlier detector.
  bool pickable = false;  // See ServerList::UpdatePickable.

  // Neither ready nor known to be out of reach: worth waiting for.
  bool Untried() const { return failure.ok() && serving && state != ServerState::kReady; }
};

class ServerList {
 public:
  struct Change {
    std::vector<ServerId> added;
    std::vector<ServerId> removed;
  };

  // A server named twice is one, with the first weight. An error or an empty list is remembered as list_error().
  Change Update(const absl::StatusOr<std::vector<ServerAddress>>& list);

  // Pickable is what is ready, serving and not ejected; if nothing is, what is ready and serving: a suspect is better
  // than nobody.
  void UpdatePickable();

  // Gives the servers that `unwanted` names another chance, if a good one is there: by the time that they are wanted
  // again, why they failed is no news.
  void ForgetFailures(absl::FunctionRef<bool(ServerId)> unwanted);

  const std::vector<ListedServer>& servers() const { return servers_; }
  // Null if the list does not have it (any more). Valid until the next Update.
  const ListedServer* Find(ServerId id) const;
  ListedServer* Find(ServerId id);

  // Of the last Update; OK before the first.
  const absl::Status& list_error() const { return list_error_; }

 private:
  std::vector<ListedServer> servers_;
  absl::flat_hash_map<ServerId, size_t> positions_;  // In servers_.
  absl::Status list_error_;
  uint64_t next_id_ = 1;
};

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_CORE_BALANCING_SERVER_LIST_H_
