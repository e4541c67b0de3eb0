// Requests to an etcd cluster (3.4 and later), over its JSON gateway. Each blocks; the task's Stop ends it.
//
// A request goes to one endpoint. After one that fails to answer, or is not understood, the next goes to the next: when
// to ask again is the caller's. Errors are etcd's words or libcurl's, with the url. Owner and thread: one task's.

#ifndef VERBENA_RPC_NAMES_ETCD_CLIENT_H_
#define VERBENA_RPC_NAMES_ETCD_CLIENT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "rpc/names/background_task.h"
#include "rpc/names/etcd_json.h"

namespace verbena::rpc {

// Past it an answer, or a message of a watch, is refused: ResourceExhausted.
inline constexpr size_t kEtcdAnswerBytesMax = 16 << 20;

// What stands after "etcd://".
struct EtcdPlace {
  std::vector<std::string> endpoints;  // "host:port".
  std::string prefix;                  // Of keys, with the "/" that ends it.
};

// "host:port[,host:port…]/prefix". InvalidArgument in words.
absl::StatusOr<EtcdPlace> ParseEtcdPlace(absl::string_view text);

class EtcdClient {
 public:
  // `timeout` is each request's, but not a watch's. `stopped_by` may be null.
  EtcdClient(std::vector<std::string> endpoints, absl::Duration timeout, BackgroundTask* stopped_by)
      : endpoints_(std::move(endpoints)), timeout_(timeout), stopped_by_(stopped_by) {}

  int endpoints() const { return static_cast<int>(endpoints_.size()); }
  // The same cluster from the same endpoint on, by requests that nothing but `timeout` ends.
  EtcdClient Unstoppable(absl::Duration timeout) const;

  absl::StatusOr<EtcdSnapshot> Range(absl::string_view prefix);
  // Under which this key is; 0: none, or there is no such key.
  absl::StatusOr<int64_t> LeaseOf(absl::string_view key);
  // Reports every change from that revision on, until it ends; returns why, never OK. DeadlineExceeded: it has lasted
  // `how_long`, or was not connected in time. OutOfRange: the revision is compacted. After these the same endpoint is
  // the next. Aborted, in its words: etcd does not go on, because its member has lost the others, for instance.
  absl::Status Watch(absl::string_view prefix, int64_t from_revision, absl::Duration how_long,
                     absl::FunctionRef<void(const std::vector<EtcdChange>&)> on_changes);

  absl::StatusOr<int64_t> GrantLease(absl::Duration ttl);  // Whole seconds count.
  // `lease` 0: for ever.
  absl::Status Put(absl::string_view key, absl::string_view value, int64_t lease);
  // NotFound: there is no such lease any more.
  absl::Status KeepAlive(int64_t lease);
  // Ends the lease, and deletes what was put under it.
  absl::Status Revoke(int64_t lease);

 private:
  absl::StatusOr<std::string> Ask(absl::string_view path, std::string request);
  // The same, and what `parse` makes of the answer.
  template <typename Value>
  absl::StatusOr<Value> AskFor(absl::string_view path, std::string request,
                               absl::StatusOr<Value> (*parse)(absl::string_view answer));
  std::string Url(absl::string_view path) const;
  void NextEndpoint() { current_ = (current_ + 1) % endpoints_.size(); }

  const std::vector<std::string> endpoints_;
  const absl::Duration timeout_;
  BackgroundTask* const stopped_by_;
  size_t current_ = 0;
};

}  // namespace verbena::rpc

#endif  // VERBENA_RPC_NAMES_ETCD_CLIENT_H_
