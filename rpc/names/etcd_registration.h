// Puts a server's address into etcd, where etcd_lookup.h finds it, for as long as the server lives. Public API.
//
// The entry ("prefix/address", with address and weight) hangs on a lease that is kept alive at a third of its time. If
// the server dies, the entry is gone when the lease runs out; if it ends properly, at once. If etcd lost the lease, or
// was away for longer, or somebody took the entry away or put it under another lease, the address is put
// again.

#ifndef VERBENA_RPC_NAMES_ETCD_REGISTRATION_H_
#define VERBENA_RPC_NAMES_ETCD_REGISTRATION_H_

#include <cstdint>
#include <memory>

#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "rpc/core/balancing/server_address.h"

namespace verbena::rpc {

class BackgroundThread;

struct EtcdRegistrationOptions {
  absl::Duration ttl = absl::Seconds(10);  // Of the lease; 2s to 1h, whole seconds.
  uint64_t seed = 0;                       // Of the jitter of retries.
};

class EtcdRegistration {
 public:
  // OK: the address is there. Otherwise why not, or not any more; it goes on trying. Called when that changes, from a
  // thread of the registration's, not after its destructor has returned; it may destroy the registration. What it
  // throws is a line in the log.
  using Watcher = absl::AnyInvocable<void(absl::Status)>;

  // `uri` is etcd://host:port,…/prefix. Does not wait. InvalidArgument in words. `watcher` may be empty.
  static absl::StatusOr<std::unique_ptr<EtcdRegistration>> Create(absl::string_view uri, ServerAddress server,
                                                                  Watcher watcher,
                                                                  const EtcdRegistrationOptions& options = {});
  // Takes the entry away; waits for that for a second at most. Any thread.
  ~EtcdRegistration();
  EtcdRegistration(const EtcdRegistration&) = delete;
  EtcdRegistration& operator=(const EtcdRegistration&) = delete;

 private:
  explicit EtcdRegistration(std::unique_ptr<BackgroundThread> thread);

  const std::unique_ptr<BackgroundThread> thread_;
};

}  // namespace verbena::rpc

namespace verbena {

using rpc::EtcdRegistration;
using rpc::EtcdRegistrationOptions;

}  // namespace verbena

#endif  // VERBENA_RPC_NAMES_ETCD_REGISTRATION_H_
